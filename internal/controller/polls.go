// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/wavetrain/wavetrain/api/v1alpha1"
	"github.com/wavetrain/wavetrain/internal/source"
)

// polls asks repositories for what has moved, once for all Applications that
// follow the same thing: an answer as before wakes nobody.
type polls struct {
	// resolve returns what a source's target revision names now.
	resolve func(ctx context.Context, of followed) (string, error)
	// moved is told of an Application that follows something that has moved.
	moved func(ctx context.Context, name types.NamespacedName)

	mu sync.Mutex
	// followers hold, by what they follow, the revision that each Application has.
	followers map[followed]map[types.NamespacedName]string
	by        map[types.NamespacedName][]followed
	// now holds repositories that are to be asked at once.
	now  map[string]bool
	ring chan struct{}
	// underWay are the repositories that are asked at this moment; true for those that
	// are to be asked once more afterwards.
	underWay map[string]bool
	running  sync.WaitGroup
	slots    chan struct{}
}

// pollsAtOnce bounds how many repositories are asked at a moment.
const pollsAtOnce = 16

// followed is what an Application follows: a revision of a repository, of a chart
// in it, for the credentials of a project.
type followed struct{ Project, RepoURL, Chart, Revision, TagPrefix string }

func newPolls(resolve func(context.Context, followed) (string, error), moved func(context.Context, types.NamespacedName)) *polls {
	return &polls{
		resolve: resolve, moved: moved,
		followers: map[followed]map[types.NamespacedName]string{}, by: map[types.NamespacedName][]followed{},
		now: map[string]bool{}, ring: make(chan struct{}, 1),
		underWay: map[string]bool{}, slots: make(chan struct{}, pollsAtOnce),
	}
}

// source is what has to be known of a source to resolve it.
func (f followed) source() v1alpha1.ApplicationSource {
	return v1alpha1.ApplicationSource{RepoURL: f.RepoURL, Chart: f.Chart, TargetRevision: f.Revision, TagPrefix: f.TagPrefix}
}

// follow sets what an Application follows and the revisions it has.
func (p *polls) follow(name types.NamespacedName, project string, sources []v1alpha1.ApplicationSource, revisions []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(name)
	for i, src := range sources {
		of := followed{Project: project, RepoURL: src.RepoURL, Chart: src.Chart, Revision: src.TargetRevision, TagPrefix: src.TagPrefix}
		if p.followers[of] == nil {
			p.followers[of] = map[types.NamespacedName]string{}
		}
		p.followers[of][name] = revisions[i]
		p.by[name] = append(p.by[name], of)
	}
}

// unfollow forgets an Application.
func (p *polls) unfollow(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leave(name)
}

func (p *polls) leave(name types.NamespacedName) {
	for _, of := range p.by[name] {
		if delete(p.followers[of], name); len(p.followers[of]) == 0 {
			delete(p.followers, of)
		}
	}
	delete(p.by, name)
}

// follows tells whether an Application is told of what moves.
func (p *polls) follows(name types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.by[name]) > 0
}

// concerned are the URLs of what is followed and fits.
func (p *polls) concerned(fits func(repo, chart string) bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []string
	for of := range p.followers {
		if !slices.Contains(list, of.RepoURL) && fits(of.RepoURL, of.Chart) {
			list = append(list, of.RepoURL)
		}
	}
	return list
}

// ask has a repository polled at once.
func (p *polls) ask(repo string) {
	p.mu.Lock()
	p.now[repo] = true
	p.mu.Unlock()
	select {
	case p.ring <- struct{}{}:
	default:
	}
}

// every returns a function that runs until its context ends and polls all
// repositories in every interval.
func (p *polls) every(interval time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		defer p.running.Wait()
		for {
			// Several controllers must not ask one server at the same moment.
			spread := rand.Int64N(int64(interval)/4 + 1) //nolint:gosec // spreading load needs no secrecy
			timer := time.NewTimer(interval + time.Duration(spread))
			for waiting := true; waiting; {
				select {
				case <-ctx.Done():
					timer.Stop()
					return nil
				case <-p.ring:
					p.poll(ctx, p.asked())
				case <-timer.C:
					waiting = false
				}
			}
			p.poll(ctx, func(string) bool { return true })
		}
	}
}

// asked returns which repositories are to be polled at once.
func (p *polls) asked() func(repo string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now
	p.now = map[string]bool{}
	return func(repo string) bool {
		for asked := range now {
			if source.SameRepository(asked, repo) {
				return true
			}
		}
		return false
	}
}

// poll has some repositories asked, each by itself: one that does not answer keeps
// nobody waiting but those who follow it.
func (p *polls) poll(ctx context.Context, in func(repo string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[string]bool{}
	for of := range p.followers {
		if in(of.RepoURL) {
			wanted[source.NormaliseURL(of.RepoURL)] = true
		}
	}
	for repo := range wanted {
		if _, busy := p.underWay[repo]; busy {
			p.underWay[repo] = true
			continue
		}
		p.underWay[repo] = false
		p.running.Go(func() { p.keepAsking(ctx, repo) })
	}
}

// keepAsking asks a repository until nobody has wanted that meanwhile.
func (p *polls) keepAsking(ctx context.Context, repo string) {
	for again := true; again; {
		select {
		case <-ctx.Done():
			return
		case p.slots <- struct{}{}:
		}
		p.askRepository(ctx, repo)
		<-p.slots
		p.mu.Lock()
		if again = p.underWay[repo]; again {
			p.underWay[repo] = false
		} else {
			delete(p.underWay, repo)
		}
		p.mu.Unlock()
	}
}

// askRepository resolves what is followed in a repository and tells of what has
// moved. What cannot be resolved counts as moved: the Application says what is wrong.
func (p *polls) askRepository(ctx context.Context, repo string) {
	p.mu.Lock()
	var all []followed
	for of := range p.followers {
		if source.NormaliseURL(of.RepoURL) == repo {
			all = append(all, of)
		}
	}
	p.mu.Unlock()
	// Revisions of one repository share one answer when they are resolved in a row.
	slices.SortFunc(all, func(a, b followed) int {
		return cmp.Or(cmp.Compare(a.RepoURL, b.RepoURL), cmp.Compare(a.Chart, b.Chart), cmp.Compare(a.Project, b.Project), cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.TagPrefix, b.TagPrefix))
	})
	moved := map[types.NamespacedName]bool{}
	for _, of := range all {
		revision, err := p.resolve(ctx, of)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		for name, has := range p.followers[of] {
			if err != nil && !errors.Is(err, source.ErrBusy) || err == nil && has != revision {
				moved[name] = true
			}
		}
		p.mu.Unlock()
	}
	names := make([]types.NamespacedName, 0, len(moved))
	for name := range moved {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	for _, name := range names {
		if ctx.Err() != nil {
			return
		}
		p.moved(ctx, name)
	}
}
