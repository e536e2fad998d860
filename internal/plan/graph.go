// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// graph is a directed graph over the steps of a group: an edge leads from a step
// to one that must precede it.
type graph struct {
	edges [][]int
}

func newGraph(nodes int) *graph { return &graph{edges: make([][]int, nodes)} }

func (g *graph) add(from, to int) {
	if from != to && !slices.Contains(g.edges[from], to) {
		g.edges[from] = append(g.edges[from], to)
	}
}

// components returns the strongly connected component of every node, and the
// members of each component that has more than one, in ascending order.
func (g *graph) components() (component []int, cyclic [][]int) {
	n := len(g.edges)
	s := search{
		graph: g, number: make([]int, n), low: make([]int, n), next: make([]int, n),
		open: make([]bool, n), component: make([]int, n),
	}
	for node := range n {
		if s.number[node] == 0 {
			s.from(node)
		}
	}
	slices.SortFunc(s.cyclic, slices.Compare)
	return s.component, s.cyclic
}

// search is Tarjan's algorithm with its stack of calls made explicit, because a
// chain of references is as long as somebody writes it.
type search struct {
	*graph
	// number counts nodes from 1 in the order in which they are met; low is the
	// smallest number that is known to be reachable; next is the edge to look at.
	number, low, next []int
	met               int
	// stack holds the nodes whose component is open.
	stack     []int
	open      []bool
	component []int
	count     int
	cyclic    [][]int
}

// from visits everything that can be reached from root and is new.
func (s *search) from(root int) {
	calls := []int{root}
	for len(calls) > 0 {
		v := calls[len(calls)-1]
		if s.number[v] == 0 {
			s.met++
			s.number[v], s.low[v] = s.met, s.met
			s.stack, s.open[v] = append(s.stack, v), true
		}
		if w, ok := s.unseen(v); ok {
			calls = append(calls, w)
			continue
		}
		calls = calls[:len(calls)-1]
		if s.low[v] == s.number[v] {
			s.close(v)
		}
	}
}

// unseen goes on with the edges of v up to one that leads to a new node.
func (s *search) unseen(v int) (node int, ok bool) {
	for ; s.next[v] < len(s.edges[v]); s.next[v]++ {
		w := s.edges[v][s.next[v]]
		if s.number[w] == 0 {
			return w, true
		}
		if s.open[w] {
			s.low[v] = min(s.low[v], s.low[w])
		}
	}
	return 0, false
}

// close makes a component of v and what was met after it.
func (s *search) close(v int) {
	at := slices.Index(s.stack, v)
	members := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	for _, w := range members {
		s.open[w], s.component[w] = false, s.count
	}
	s.count++
	if len(members) > 1 {
		slices.Sort(members)
		s.cyclic = append(s.cyclic, members)
	}
}
