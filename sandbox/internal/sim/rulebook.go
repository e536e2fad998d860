// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/wavetrain/wavetrain/sandbox/internal/sim/rules"
	"github.com/wavetrain/wavetrain/sandbox/internal/sim/thirdparty"
)

// ruleBook holds the rules that are in force. Those of the ConfigMap come before those of the file; the
// shipped ones are asked only where none of these acts.
type ruleBook struct {
	file    string
	mu      sync.RWMutex
	read    []byte
	err     error
	mapped  rules.List
	filed   rules.List
	active  rules.List
	shipped rules.List
}

func newRuleBook(opts Options) (*ruleBook, error) {
	shipped, err := thirdparty.Rules(opts.RuleSets)
	if err != nil {
		return nil, err
	}
	b := &ruleBook{file: opts.RulesFile, shipped: shipped}
	if b.file == "" {
		return b, nil
	}
	_, err = b.readFile()
	return b, err
}

// readFile reads the file; what does not parse leaves the rules as they were. News says that the outcome
// differs from that of the last time.
func (b *ruleBook) readFile() (news bool, err error) {
	data, err := os.ReadFile(b.file)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("read rules: %w", err)
		news = b.err == nil || b.err.Error() != err.Error()
		b.read, b.err = nil, err
		return news, err
	}
	if b.read != nil && bytes.Equal(b.read, data) {
		return false, b.err
	}
	b.read = data
	list, err := rules.Parse(b.file, data)
	b.err = err
	if err == nil {
		b.filed = list
		b.active = slices.Concat(b.mapped, b.filed)
	}
	return true, err
}

// setMapped replaces the rules of the ConfigMap.
func (b *ruleBook) setMapped(list rules.List) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mapped = list
	b.active = slices.Concat(b.mapped, b.filed)
}

func (b *ruleBook) forPod(p *rules.Pod) *rules.Rule {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.active.ForPod(p)
}

func (b *ruleBook) forObject(o *rules.Object) *rules.Rule {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.active.ForObject(o, b.shipped)
}

func (b *ruleBook) forPodObject(p *rules.Pod) *rules.Rule {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.active.ForPodObject(p)
}

// kinds names the kinds that must be watched for the rules.
func (b *ruleBook) kinds() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	seen := map[string]bool{}
	for _, list := range []rules.List{b.active, b.shipped} {
		for i := range list {
			for _, kind := range list[i].Kinds() {
				seen[kind] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// watchFile reads the file again when it changes, until ctx ends.
func (e *engine) watchFile(ctx context.Context) {
	wait.UntilWithContext(ctx, func(context.Context) {
		if news, err := e.reloadFile(); news && err != nil {
			e.log.Error(err, "keep the rules as they were")
		}
	}, e.opts.PollInterval)
}

func (e *engine) reloadFile() (news bool, err error) {
	news, err = e.rules.readFile()
	if news && err == nil {
		e.rulesChanged()
	}
	return news, err
}

// readConfigMap takes over the rules of all keys of the ConfigMap, in the order of their names.
func (e *engine) readConfigMap(config *corev1.ConfigMap, gone bool) {
	var list rules.List
	var errs []error
	if !gone {
		for _, key := range slices.Sorted(maps.Keys(config.Data)) {
			parsed, err := rules.Parse(fmt.Sprintf("ConfigMap/%s/%s:%s", config.Namespace, config.Name, key), []byte(config.Data[key]))
			list, errs = append(list, parsed...), append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		e.log.Error(err, "keep the rules as they were")
		e.events.Event(config, corev1.EventTypeWarning, "InvalidRules", err.Error())
		return
	}
	e.rules.setMapped(list)
	e.rulesChanged()
}

// rulesChanged looks at everything again in the light of the new rules.
func (e *engine) rulesChanged() {
	e.watches.adjust()
	e.enqueuePods()
	e.enqueueIngresses()
	e.enqueueServices()
	e.enqueueClaims()
	e.watches.enqueueAll()
}

// pollInterval is how often the file is looked at unless told otherwise.
const pollInterval = 500 * time.Millisecond
