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
// members of each component that has more than one, in ascending order. It is
// Tarjan's algorithm with its stack of calls made explicit, because a chain of
// references is as long as somebody writes it.
func (g *graph) components() (component []int, cyclic [][]int) {
	n := len(g.edges)
	component = make([]int, n)
	number, low := make([]int, n), make([]int, n)
	onStack := make([]bool, n)
	next := make([]int, n)
	var stack, calls []int
	counter, count := 0, 0
	for root := range n {
		if number[root] != 0 {
			continue
		}
		calls = append(calls, root)
		for len(calls) > 0 {
			v := calls[len(calls)-1]
			if number[v] == 0 {
				counter++
				number[v], low[v] = counter, counter
				stack, onStack[v] = append(stack, v), true
			}
			if next[v] < len(g.edges[v]) {
				w := g.edges[v][next[v]]
				if number[w] == 0 {
					calls = append(calls, w)
					continue
				}
				if onStack[w] {
					low[v] = min(low[v], low[w])
				}
				next[v]++
				continue
			}
			calls = calls[:len(calls)-1]
			if low[v] != number[v] {
				continue
			}
			at := slices.Index(stack, v)
			members := slices.Clone(stack[at:])
			stack = stack[:at]
			for _, w := range members {
				onStack[w], component[w] = false, count
			}
			count++
			if len(members) > 1 {
				slices.Sort(members)
				cyclic = append(cyclic, members)
			}
		}
	}
	slices.SortFunc(cyclic, slices.Compare)
	return component, cyclic
}
