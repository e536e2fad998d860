// Copyright The Wavetrain Authors
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/wavetrain/wavetrain/internal/diag"
	"github.com/wavetrain/wavetrain/internal/field"
	"github.com/wavetrain/wavetrain/internal/manifest"
)

// migrator recognises a tool that changes a database schema.
type migrator struct {
	tool    string
	command *regexp.Regexp
	// particular commands are nobody else's.
	particular bool
}

// migrators returns the tools that checks know, the particular ones first.
func migrators() []migrator {
	list := []struct{ tool, command string }{
		{"prisma", `prisma(@\S+)?\s+(migrate\s+deploy|db\s+push)`},
		{"alembic", `alembic\b.*\bupgrade\b|flask\s+db\s+upgrade\b`},
		{"flyway", `flyway\b.*\bmigrate\b`},
		{"liquibase", `liquibase\b.*\bupdate\b`},
		{"goose", `goose\b.*\bup(-to|-by-one)?\b`},
		{"golang-migrate", `\bmigrate\s+-?-(path|source|database)\b.*\bup\b`},
		{"rails", `\b(rails|rake)\s+db:(migrate|prepare|schema:load)`},
		{"django", `(manage\.py|django-admin)\s+migrate\b`},
		{"knex", `knex\b.*\bmigrate:(latest|up)`},
		{"sequelize", `sequelize(-cli)?\b.*\bdb:migrate\b`},
		{"typeorm", `typeorm\b.*\bmigration:run\b`},
		{"laravel", `artisan\s+migrate\b`},
		{"ecto", `ecto\.migrate\b|Release\.migrate\b`},
		{"dbmate", `dbmate\b.*\b(up|migrate)\b`},
		{"sqlx", `sqlx\s+migrate\s+run`},
		{"diesel", `diesel\s+migration\s+run`},
		{"atlas", `atlas\s+(schema|migrate)\s+apply`},
		{"drizzle", `drizzle-kit\s+(migrate|push)`},
		{"entity framework", `dotnet\s+ef\s+database\s+update`},
		{"airflow", `airflow\w*\s+db\s+(migrate|upgrade|init)\b`},
		{"a script", `\b(npm|pnpm|yarn|bun)\s+(run\s+)?\S*migrat\S*|\bmigrate\.(sh|py|js|ts|rb)\b`},
		{"migrate", `(^|[\s/])(db[:-]?)?migrate(\s+(up|run|deploy|latest|all))?(\s+-|\s*$)`},
	}
	all := make([]migrator, len(list))
	for i, m := range list {
		all[i] = migrator{m.tool, regexp.MustCompile(`(?s)` + m.command), m.tool != "a script" && m.tool != "migrate"}
	}
	return all
}

// migrationTool returns the tool with which a container changes a database
// schema, empty if it does not.
func (w *world) migrationTool(c container) string {
	text := c.text()
	if isWaiting(c.name) || onlyLooks(text) {
		return ""
	}
	for _, m := range w.migrators {
		if m.command.MatchString(text) {
			return m.tool
		}
	}
	repository := c.repository()
	for _, image := range []string{"flyway/flyway", "redgate/flyway", "liquibase/liquibase", "migrate/migrate", "amacneil/dbmate", "arigaio/atlas"} {
		if strings.HasSuffix(repository, image) {
			return image[strings.LastIndex(image, "/")+1:]
		}
	}
	for part := range strings.SplitSeq(c.name, "-") {
		switch part {
		case "migrate", "migration", "migrations", "migrator", "dbmigrate":
			return "container " + c.name
		}
	}
	return ""
}

func isWaiting(name string) bool {
	return strings.HasPrefix(name, "wait") || strings.HasPrefix(name, "check")
}

// onlyLooks reports whether a command asks for the state of a schema and leaves it as
// it is.
func onlyLooks(text string) bool {
	for _, word := range []string{"migrate --check", "migrate --plan", "showmigrations", "alembic check", "alembic current", "migrate status", "--dry-run", "migrate info", "migrate validate"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// waitsForMigration reports whether a container ends when a schema is up to date.
func waitsForMigration(c container) bool {
	text := strings.ToLower(c.text())
	if isWaiting(c.name) && strings.Contains(c.name, "migrat") {
		return true
	}
	return strings.Contains(text, "check-migrations") || strings.Contains(text, "wait_for_db_migrations") ||
		strings.Contains(text, "wait-for-migrations") || strings.Contains(text, "migrate --check") || strings.Contains(text, "db:abort_if_pending_migrations")
}

// migration is a schema change: the container that makes it, and its tool.
type migration struct {
	container
	tool string
}

// migrates returns the schema change of a Job; its tool is empty if there is none.
func (w *world) migrates(s *stage) migration {
	if s.Key.Kind != "Job" && (s.Key.Kind != "Pod" || !s.hook()) {
		return migration{}
	}
	if known, ok := w.migrations[s]; ok {
		return known
	}
	var found migration
	for _, c := range containers(s.Object.Unstructured) {
		if tool := w.migrationTool(c); tool != "" {
			found = migration{c, tool}
			break
		}
	}
	w.migrations[s] = found
	return found
}

// migrationsOf returns the Jobs that bring about what a container waits for: those
// of the same program that migrate. One of them in time is enough.
func (w *world) migrationsOf(s *stage, c container) []*stage {
	var jobs []*stage
	for _, job := range w.stages {
		if job == s || job.Key.Namespace != s.Key.Namespace {
			continue
		}
		if by := w.migrates(job); by.tool != "" && by.repository() == c.repository() {
			if job.at <= s.at {
				return nil
			}
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// migrationRaces finds schema changes that several Pods make at once.
func migrationRaces(w *world) {
	for _, s := range w.stages {
		most, why := w.mostReplicas(s)
		if most < 2 {
			continue
		}
		for _, c := range containers(s.Object.Unstructured) {
			tool := w.migrationTool(c)
			where := "init container " + c.name
			if !c.init {
				// A server may be called anything: what it runs says that it migrates.
				where = "container " + c.name
				if !w.serves(c) {
					continue
				}
			}
			if tool == "" {
				continue
			}
			f := problem("migration-race", diag.Warning, c.path,
				fmt.Sprintf("%s of %s migrates a database (%s), and up to %d Pods start at once (%s)", where, s.Key.Short(), tool, most, why),
				"migrate in a Job that is a PreSync hook, or a Sync hook in a wave before "+s.Key.Short())
			f.Details = map[string]string{"tool": tool}
			w.add(s, f)
		}
	}
}

// serves reports whether a container migrates a database by the command of a tool and
// then goes on.
func (w *world) serves(c container) bool {
	text := c.text()
	return (strings.Contains(text, "&&") || strings.Contains(text, ";") || strings.Contains(text, "\n")) &&
		slices.ContainsFunc(w.migrators, func(m migrator) bool { return m.particular && m.command.MatchString(text) })
}

// mostReplicas returns how many Pods of a workload can start at once, and what
// says so.
func (w *world) mostReplicas(s *stage) (n int64, why string) {
	switch s.Key.Kind {
	case "DaemonSet":
		return 2, "one on every node"
	case "StatefulSet":
		if field.Text(s.content(), "spec.podManagementPolicy") != "Parallel" {
			return 1, ""
		}
	case "Deployment", "ReplicaSet", "Rollout", "CloneSet":
	default:
		return 0, ""
	}
	n, why = 1, "replicas"
	if replicas, set := number(field.At(s.content(), "spec.replicas")); set {
		n = replicas
	}
	for _, scaler := range w.scaledBy[s.Key] {
		if most := ceiling(scaler); most > n {
			n, why = most, scaler.Key.Short()
		}
	}
	return n, why
}

// kedaCeiling is how far KEDA scales unless told otherwise.
const kedaCeiling = 100

// ceiling is the most that an autoscaler scales to.
func ceiling(scaler *stage) int64 {
	if scaler.Key.Kind != "ScaledObject" {
		most, _ := number(field.At(scaler.content(), "spec.maxReplicas"))
		return most
	}
	if most, set := number(field.At(scaler.content(), "spec.maxReplicaCount")); set {
		return most
	}
	return kedaCeiling
}

// runsBeforeMigration finds workloads that use the database which a Job of a later
// group migrates.
func runsBeforeMigration(w *world) {
	for _, job := range w.stages {
		by := w.migrates(job)
		if by.tool == "" {
			continue
		}
		secrets := w.credentials(job)
		for _, s := range w.stages {
			if s.at > job.at || s.hook() || s == job || s.Key.Namespace != job.Key.Namespace || !manifest.StartsPods(s.Object.Unstructured) || !w.uses(s, by.container, secrets) {
				continue
			}
			if slices.ContainsFunc(containers(s.Object.Unstructured), func(c container) bool { return c.init && waitsForMigration(c) }) {
				continue
			}
			f := problem("runs-before-migration", diag.Warning, "",
				fmt.Sprintf("%s starts in %s with the database that %s migrates in %s: it runs with the schema of the release before",
					s.Key.Short(), s.place(), job.Key.Short(), job.place()),
				fmt.Sprintf("give %s a wave after %d, if it does not work with both schemas", s.Key.Short(), job.wave))
			if s.at == job.at {
				f.Severity = diag.Info
				f.Message = fmt.Sprintf("%s and %s, which migrates its database, are in one wave: new code may meet the schema of the release before", s.Key.Short(), job.Key.Short())
				f.Hint = fmt.Sprintf("give %s a wave before %d, or make it a PreSync hook", job.Key.Short(), s.wave)
			}
			f.Needs, f.AvailableAt = job.Key, job.place()
			w.add(s, f)
		}
	}
}

// credentials returns the Secrets from which a workload has what looks like the
// access to a database.
func (w *world) credentials(s *stage) map[manifest.Key]bool {
	found := map[manifest.Key]bool{}
	for _, ref := range w.references(s) {
		if ref.Target.Kind == "Secret" && ref.AtStart && !strings.Contains(ref.Field, "imagePullSecrets") {
			found[ref.Target] = true
		}
	}
	return found
}

// uses reports whether a workload is of the same program as a migration and
// shares its credentials. A database that the migration is for shares them too,
// but is another program.
func (w *world) uses(s *stage, migration container, secrets map[manifest.Key]bool) bool {
	same := slices.ContainsFunc(containers(s.Object.Unstructured), func(c container) bool {
		return !c.init && c.repository() == migration.repository()
	})
	if !same {
		return false
	}
	return slices.ContainsFunc(w.references(s), func(ref manifest.Reference) bool { return secrets[ref.Target] })
}
