// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// testAutoscaling goes the whole way: a rule sets the usage of Pods, the metrics API serves it through the aggregator,
// and upstream's autoscaler computes the count from it, up and down again.
func testAutoscaling(t *testing.T, p *process) {
	t.Helper()
	client := p.client(t)
	namespace := newNamespace(t, client)
	labels := map[string]string{"app": "web"}
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "example.test/web:1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	load := func(replicas string) {
		setRules(t, p, "rules:\n- match: {kind: HorizontalPodAutoscaler, name: web}\n  scales: [{at: 0s, target: Deployment/web, replicas: "+replicas+"}]\n")
	}
	load("3")
	_, err = client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr.To[int32](1),
			MaxReplicas:    5,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](50)},
				},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}

	ready := func(count int32) func(context.Context) (bool, error) {
		return func(ctx context.Context) (bool, error) {
			web, err := client.AppsV1().Deployments(namespace).Get(ctx, "web", metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			return *web.Spec.Replicas == count && web.Status.ReadyReplicas == count, fmt.Errorf("%d replicas, %d ready", *web.Spec.Replicas, web.Status.ReadyReplicas)
		}
	}
	eventually(t, "the autoscaler scales up", ready(3))
	load("2")
	eventually(t, "the autoscaler scales down", ready(2))
	// It went there in two steps: numbers that are wrong while Pods come and go would make it wander.
	eventually(t, "the autoscaler scales twice", func(ctx context.Context) (bool, error) {
		events, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=SuccessfulRescale"})
		return err == nil && len(events.Items) >= 2, err
	})
	events, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=SuccessfulRescale"})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range events.Items {
		if len(events.Items) != 2 {
			t.Errorf("one of %d steps, want 2: %s", len(events.Items), event.Message)
		}
	}
	hpa, err := client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range hpa.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status != corev1.ConditionTrue {
			t.Errorf("ScalingActive is %s: %s", c.Status, c.Message)
		}
	}
}

// setRules replaces the rules of a control plane until the test ends.
func setRules(t *testing.T, p *process, yaml string) {
	t.Helper()
	replace := func(content string) {
		if err := os.WriteFile(p.RulesFile, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(p.stdin, "reload 1"); err != nil {
			t.Fatal(err)
		}
		if !p.stdout.Scan() || p.stdout.Text() != `{"reply":"1"}` {
			t.Fatalf("reload rules: the answer is %q", p.stdout.Text())
		}
	}
	replace(yaml)
	t.Cleanup(func() { replace("rules: []\n") })
}
