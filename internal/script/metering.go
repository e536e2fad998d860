// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// The interpreter has no limit on memory, and one instruction of it can ask for any amount: a text can double with each
// step, and a table is filled with nothing up to the number that is assigned. So that a script cannot exceed what it is
// given, it is rewritten before it is compiled: whatever makes a text or a table passes through functions that keep
// count. The script is called with these functions; their names are no names in Lua, so that it cannot reach them.
const (
	meterText  = "\x00text"
	meterTable = "\x00table"
	meterRoom  = "\x00room"
)

// meters are the functions a metered script is called with, in this order.
func meters() []string { return []string{meterText, meterTable, meterRoom} }

// metered rewrites a script so that it accounts for its memory.
func metered(chunk []ast.Stmt) []ast.Stmt {
	r := &rewriter{}
	given := &ast.LocalAssignStmt{Names: meters(), Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	return append([]ast.Stmt{given}, r.block(chunk)...)
}

type rewriter struct {
	// keys numbers the variables made for the keys of assignments.
	keys int
}

func (r *rewriter) block(all []ast.Stmt) []ast.Stmt {
	for i, stmt := range all {
		all[i] = r.stmt(stmt)
	}
	return all
}

func (r *rewriter) stmt(stmt ast.Stmt) ast.Stmt {
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		return r.assign(s)
	case *ast.LocalAssignStmt:
		r.all(s.Exprs)
	case *ast.FuncCallStmt:
		s.Expr = r.expr(s.Expr)
	case *ast.DoBlockStmt:
		r.block(s.Stmts)
	case *ast.WhileStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Stmts)
	case *ast.RepeatStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Stmts)
	case *ast.IfStmt:
		s.Condition = r.expr(s.Condition)
		r.block(s.Then)
		r.block(s.Else)
	case *ast.NumberForStmt:
		s.Init, s.Limit, s.Step = r.expr(s.Init), r.expr(s.Limit), r.expr(s.Step)
		r.block(s.Stmts)
	case *ast.GenericForStmt:
		r.all(s.Exprs)
		r.block(s.Stmts)
	case *ast.FuncDefStmt:
		r.expr(s.Func)
	case *ast.ReturnStmt:
		r.all(s.Exprs)
	}
	return stmt
}

// assign has the table asked for room before something is put into it. The key is needed twice; one that is more than
// a name or a constant is kept in a variable, so that it is computed once.
func (r *rewriter) assign(s *ast.AssignStmt) ast.Stmt {
	before := &ast.LocalAssignStmt{}
	before.SetLine(s.Line())
	for _, target := range s.Lhs {
		field, ok := target.(*ast.AttrGetExpr)
		if !ok {
			continue
		}
		field.Object, field.Key = r.expr(field.Object), r.expr(field.Key)
		switch field.Key.(type) {
		case *ast.IdentExpr, ast.ConstExpr:
		default:
			r.keys++
			name := fmt.Sprintf("\x00key%d", r.keys)
			before.Names, before.Exprs = append(before.Names, name), append(before.Exprs, field.Key)
			field.Key = at(field.Key, &ast.IdentExpr{Value: name})
		}
		field.Object = call(meterRoom, field.Object, field.Key)
	}
	r.all(s.Rhs)
	if len(before.Names) == 0 {
		return s
	}
	block := &ast.DoBlockStmt{Stmts: []ast.Stmt{before, s}}
	block.SetLine(s.Line())
	block.SetLastLine(s.LastLine())
	return block
}

func (r *rewriter) all(exprs []ast.Expr) {
	for i, e := range exprs {
		exprs[i] = r.expr(e)
	}
}

func (r *rewriter) expr(expr ast.Expr) ast.Expr {
	switch e := expr.(type) {
	case *ast.AttrGetExpr:
		e.Object, e.Key = r.expr(e.Object), r.expr(e.Key)
	case *ast.TableExpr:
		for _, f := range e.Fields {
			f.Key, f.Value = r.expr(f.Key), r.expr(f.Value)
		}
		return r.table(e)
	case *ast.FuncCallExpr:
		e.Func, e.Receiver = r.expr(e.Func), r.expr(e.Receiver)
		r.all(e.Args)
	case *ast.LogicalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.RelationalOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.StringConcatOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
		return call(meterText, e)
	case *ast.ArithmeticOpExpr:
		e.Lhs, e.Rhs = r.expr(e.Lhs), r.expr(e.Rhs)
	case *ast.UnaryMinusOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryNotOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.UnaryLenOpExpr:
		e.Expr = r.expr(e.Expr)
	case *ast.FunctionExpr:
		r.block(e.Stmts)
	}
	return expr
}

// table meters a table that is written down. One whose keys are computed could be asked to have room for any number;
// it is made empty and its fields are counted like assignments by the function that makes it.
func (r *rewriter) table(e *ast.TableExpr) ast.Expr {
	made := call(meterTable, e)
	for _, f := range e.Fields {
		if _, plain := f.Key.(*ast.StringExpr); f.Key == nil || plain {
			continue
		}
		f.Key = call(meterTable, f.Key)
	}
	return made
}

// call is an expression that calls one of the meters and has one value.
func call(meter string, args ...ast.Expr) ast.Expr {
	made := &ast.FuncCallExpr{Func: at(args[0], &ast.IdentExpr{Value: meter}), Args: args, AdjustRet: true}
	made.SetLastLine(args[0].LastLine())
	return at(args[0], made)
}

// at gives an expression the line of another.
func at[E ast.Expr](other ast.Expr, e E) E {
	e.SetLine(other.Line())
	return e
}
