// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/wavetrain/wavetrain/internal/field"
)

// maxClaims bounds how many claims of one StatefulSet are listed: its number of
// replicas is input like any other.
const maxClaims = 1000

// Product is an object that a controller makes from another one.
type Product struct {
	Object Key
	// Keys are the entries of a Secret, sorted.
	Keys []string
	// KeysKnown is false when the Secret may hold entries that are not in Keys.
	KeysKnown bool
}

// Products returns what the controllers of well-known kinds make from an object, and
// what it says itself that comes of it. An object that only adds to a Secret of
// somebody else produces nothing.
func Products(u *unstructured.Unstructured) []Product {
	list := known(u)
	// What cannot be read is a finding of the plan.
	said, _ := Produces(u)
	for _, n := range said {
		if n.Anywhere {
			n.Namespace = u.GetNamespace()
		}
		list = append(list, Product{Object: n.Key})
	}
	return list
}

// known are the products of well-known kinds.
func known(u *unstructured.Unstructured) []Product {
	gk := u.GroupVersionKind().GroupKind()
	switch gk.Group {
	case groupExternalSecrets:
		if gk.Kind == "ExternalSecret" {
			return externalSecretProducts(u)
		}
	case "bitnami.com":
		if gk.Kind == "SealedSecret" {
			return sealedSecretProducts(u)
		}
	case groupCertManager:
		if gk.Kind == "Certificate" {
			return certificateProducts(u)
		}
	case groupCNPG:
		if gk.Kind == "Cluster" {
			return cnpgProducts(u)
		}
	case groupStrimzi:
		return strimziProducts(u, gk.Kind)
	case groupApps:
		if gk.Kind == "StatefulSet" {
			return claimProducts(u)
		}
	}
	return nil
}

// secret returns the product "Secret name" in u's namespace with the keys known.
func secret(u *unstructured.Unstructured, name string, keys ...string) Product {
	return Product{
		Object:    Key{Kind: "Secret", Namespace: u.GetNamespace(), Name: name},
		Keys:      sortedSet(keys),
		KeysKnown: true,
	}
}

func sortedSet(items []string) []string {
	items = slices.Clone(items)
	slices.Sort(items)
	return slices.Compact(items)
}

// externalSecretProducts knows the operator's rules: a template with entries of
// its own replaces what was fetched unless it says Merge, and Merge and None as
// creation policy make no Secret.
func externalSecretProducts(u *unstructured.Unstructured) []Product {
	target := field.Map(u.Object, "spec.target")
	switch field.Text(target, "creationPolicy") {
	case "None", "Merge":
		return nil
	}
	name := field.Text(target, "name")
	if name == "" {
		name = u.GetName()
	}
	if name == "" {
		return nil
	}

	var fetched []string
	for _, d := range field.List(u.Object, "spec.data") {
		if key := field.Text(d, "secretKey"); key != "" {
			fetched = append(fetched, key)
		}
	}
	known := len(field.List(u.Object, "spec.dataFrom")) == 0

	templated := slices.Collect(maps.Keys(field.Map(target, "template.data")))
	from := len(field.List(target, "template.templateFrom")) > 0
	if len(templated) > 0 || from {
		if field.Text(target, "template.mergePolicy") == "Merge" {
			known = known && !from
		} else {
			fetched, known = nil, !from
		}
	}
	product := secret(u, name, slices.Concat(fetched, templated)...)
	product.KeysKnown = known
	if m := field.Map(target, "manifest"); m != nil {
		product.Object.Group, product.Object.Kind = groupOf(field.Text(m, "apiVersion")), field.Text(m, "kind")
	}
	return []Product{product}
}

func sealedSecretProducts(u *unstructured.Unstructured) []Product {
	metadata := field.Map(u.Object, "spec.template.metadata")
	name := field.Text(metadata, "name")
	if name == "" {
		name = u.GetName()
	}
	encrypted, templated := field.Map(u.Object, "spec.encryptedData"), field.Map(u.Object, "spec.template.data")
	product := secret(u, name, slices.Concat(slices.Collect(maps.Keys(encrypted)), slices.Collect(maps.Keys(templated)))...)
	if namespace := field.Text(metadata, "namespace"); namespace != "" {
		product.Object.Namespace = namespace
	}
	return []Product{product}
}

func certificateProducts(u *unstructured.Unstructured) []Product {
	spec := field.Map(u.Object, "spec")
	name := field.Text(spec, "secretName")
	if name == "" {
		return nil
	}
	list := []string{"ca.crt", "tls.crt", "tls.key"}
	if create, _ := field.At(spec, "keystores.jks.create").(bool); create {
		list = append(list, "keystore.jks", "truststore.jks")
	}
	if create, _ := field.At(spec, "keystores.pkcs12.create").(bool); create {
		list = append(list, "keystore.p12", "truststore.p12")
	}
	for _, format := range field.List(spec, "additionalOutputFormats") {
		switch field.Text(format, "type") {
		case "CombinedPEM":
			list = append(list, "tls-combined.pem")
		case "DER":
			list = append(list, "key.der")
		}
	}
	return []Product{secret(u, name, list...)}
}

// cnpgProducts lists the Secrets and Services of a CloudNativePG cluster. Secrets
// that the owner brings along are not among them.
func cnpgProducts(u *unstructured.Unstructured) []Product {
	spec, name := field.Map(u.Object, "spec"), u.GetName()
	credentials := []string{
		"dbname", "fqdn-jdbc-uri", "fqdn-uri", "host", "jdbc-uri", "password", "pgpass", "port", "uri", "user", "username",
	}
	var products []Product
	if !bringsSecret(spec, "bootstrap.initdb.secret", "bootstrap.recovery.secret", "bootstrap.pg_basebackup.secret") {
		products = append(products, secret(u, name+"-app", credentials...))
	}
	if on, _ := spec["enableSuperuserAccess"].(bool); on && !bringsSecret(spec, "superuserSecret") {
		products = append(products, secret(u, name+"-superuser", credentials...))
	}
	if field.Text(spec, "certificates.serverCASecret") == "" {
		products = append(products, secret(u, name+"-ca", "ca.crt", "ca.key"))
	}
	if field.Text(spec, "certificates.serverTLSSecret") == "" {
		products = append(products, secret(u, name+"-server", "tls.crt", "tls.key"))
	}
	if field.Text(spec, "certificates.replicationTLSSecret") == "" {
		products = append(products, secret(u, name+"-replication", "tls.crt", "tls.key"))
	}
	for _, suffix := range []string{"-rw", "-ro", "-r"} {
		products = append(products, Product{
			Object:    Key{Kind: "Service", Namespace: u.GetNamespace(), Name: name + suffix},
			KeysKnown: true,
		})
	}
	return products
}

// bringsSecret reports whether one of the references below spec is set.
func bringsSecret(spec map[string]any, paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return field.Text(spec, path+".name") != "" })
}

func strimziProducts(u *unstructured.Unstructured, kind string) []Product {
	switch kind {
	case "Kafka":
		return []Product{secret(u, u.GetName()+"-cluster-ca-cert", "ca.crt", "ca.p12", "ca.password")}
	case "KafkaUser":
		switch field.Text(u.Object, "spec.authentication.type") {
		case "tls":
			return []Product{secret(u, u.GetName(), "ca.crt", "user.crt", "user.key", "user.p12", "user.password")}
		case "scram-sha-512":
			return []Product{secret(u, u.GetName(), "password", "sasl.jaas.config")}
		}
	}
	return nil
}

// claimProducts lists the PersistentVolumeClaims of a StatefulSet.
func claimProducts(u *unstructured.Unstructured) []Product {
	replicas, ok := field.At(u.Object, "spec.replicas").(int64)
	if !ok {
		replicas = 1
	}
	start, _ := field.At(u.Object, "spec.ordinals.start").(int64)
	var products []Product
	for _, template := range field.List(u.Object, "spec.volumeClaimTemplates") {
		name := field.Text(template, "metadata.name")
		for i := range replicas {
			if len(products) == maxClaims {
				return products
			}
			products = append(products, Product{
				Object: Key{
					Kind: "PersistentVolumeClaim", Namespace: u.GetNamespace(),
					Name: name + "-" + u.GetName() + "-" + strconv.FormatInt(start+i, 10),
				},
				KeysKnown: true,
			})
		}
	}
	return products
}
