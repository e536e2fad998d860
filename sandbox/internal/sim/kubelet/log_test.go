// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestLog(t *testing.T) {
	cases := map[string]struct {
		reason, rule, container, text string
		policy                        corev1.RestartPolicy
		previous                      bool
		want, fails                   string
	}{
		"Running":  {reason: "one line", rule: "readyAfter: 1s", policy: corev1.RestartPolicyAlways, want: "simulated container main runs web:1\n"},
		"Text":     {reason: "the rule's text", rule: "readyAfter: 1s", text: "a\nb", policy: corev1.RestartPolicyAlways, want: "a\nb\n"},
		"Failed":   {reason: "and the end", rule: "failAfter: 1s, exitCode: 3", text: "a", policy: corev1.RestartPolicyNever, want: "a\nsimulated container main exits with code 3\n"},
		"Crashing": {reason: "what is in back-off has ended", rule: "failAfter: 1s", text: "a", policy: corev1.RestartPolicyAlways, want: "a\nsimulated container main exits with code 1\n"},
		"Previous": {
			reason: "the run before", rule: "failAfter: 1s", text: "a", previous: true, policy: corev1.RestartPolicyAlways, want: "a\nsimulated container main exits with code 1\n",
		},
		"NoPrevious": {reason: "there is none", rule: "readyAfter: 1s", previous: true, policy: corev1.RestartPolicyAlways, fails: "not found"},
		"Waiting":    {reason: "has not run", rule: "waiting: {reason: ErrImagePull}", policy: corev1.RestartPolicyAlways, fails: "is waiting to start: ErrImagePull"},
		"Unknown":    {reason: "no such container", rule: "readyAfter: 1s", container: "other", policy: corev1.RestartPolicyAlways, fails: "not available"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.rule, testPod(tc.policy)).until(5 * time.Second)
			container := tc.container
			if container == "" {
				container = "main"
			}
			got, err := Log(b.pod, container, tc.text, tc.previous)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("%s: error %v, want one that says %q", tc.reason, err, tc.fails)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("%s: %q, %v; want %q", tc.reason, got, err, tc.want)
			}
		})
	}
}
