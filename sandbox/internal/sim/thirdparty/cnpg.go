// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package thirdparty

import (
	"encoding/base64"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// clusterTakes is from a new Cluster, or a new generation of it, to a healthy one.
	clusterTakes   = 2 * time.Second
	healthyCluster = "Cluster in healthy state"
	settingUp      = "Setting up primary"
	database       = "app"
)

// cnpgCluster makes the Secrets of a database cluster while it is set up, then reports it healthy.
func cnpgCluster(o *unstructured.Unstructured, now, since time.Time, world World) Reaction {
	var out Reaction
	name := o.GetName()
	for _, role := range []string{"superuser", "app"} {
		if secret := name + "-" + role; world.SecretData(o.GetNamespace(), secret) == nil {
			out.Objects = append(out.Objects, databaseSecret(o, secret, role))
		}
	}
	instances, ok, _ := unstructured.NestedInt64(o.Object, "spec", "instances")
	if !ok {
		instances = 1
	}
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	has, _, _ := unstructured.NestedInt64(o.Object, "status", "readyInstances")
	if due := since.Add(clusterTakes); now.Before(due) {
		out.Wake = due
		if phase == "" {
			unready, _ := ready(o, "False", "ClusterIsNotReady", "Cluster Is Not Ready", now)
			out.Status = map[string]any{
				"phase": settingUp, "instances": instances, "readyInstances": int64(0), "conditions": []any{unready},
			}
		}
		return out
	}
	is, news := ready(o, "True", "ClusterIsReady", "Cluster is Ready", now)
	if news || phase != healthyCluster || has != instances {
		out.Status = map[string]any{
			"phase": healthyCluster, "phaseReason": "", "instances": instances, "readyInstances": instances,
			"currentPrimary": name + "-1", "targetPrimary": name + "-1",
			"writeService": name + "-rw", "readService": name + "-r", "conditions": []any{is},
		}
	}
	return out
}

// databaseSecret holds how to log in to the cluster in one role.
func databaseSecret(o *unstructured.Unstructured, name, role string) *unstructured.Unstructured {
	user, db := "postgres", "*"
	if role == "app" {
		user, db = database, database
		if owner, _, _ := unstructured.NestedString(o.Object, "spec", "bootstrap", "initdb", "owner"); owner != "" {
			user = owner
		}
		if named, _, _ := unstructured.NestedString(o.Object, "spec", "bootstrap", "initdb", "database"); named != "" {
			db = named
		}
	}
	host := o.GetName() + "-rw"
	password := string(value([]any{o.GetNamespace(), name}))
	uri := fmt.Sprintf("postgresql://%s:%s@%s.%s:5432/%s", user, password, host, o.GetNamespace(), db)
	out := owned(o, "v1", "Secret", name)
	out.SetLabels(map[string]string{"cnpg.io/cluster": o.GetName(), "cnpg.io/reload": "true"})
	out.Object["type"] = "kubernetes.io/basic-auth"
	data := map[string]any{}
	for key, text := range map[string]string{
		"username": user, "user": user, "password": password, "dbname": db, "host": host, "port": "5432", "uri": uri,
		"jdbc-uri": fmt.Sprintf("jdbc:postgresql://%s.%s:5432/%s?password=%s&user=%s", host, o.GetNamespace(), db, password, user),
		"pgpass":   fmt.Sprintf("%s:5432:%s:%s:%s\n", host, db, user, password),
	} {
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	out.Object["data"] = data
	return out
}
