// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/depots"
	"mirrord/app/jobs"
	"mirrord/app/life"
	"mirrord/app/look"
	"mirrord/app/nodes"
	"mirrord/app/replicas"
	"mirrord/app/runs"
	"mirrord/app/search"
	"mirrord/app/spaces"
	"mirrord/cluster/depot"
	"mirrord/cmd/mirrord/cluster"
	"mirrord/mirror"
	"mirrord/mirror/report"
	"mirrord/mirror/scope"
	"mirrord/phm"
	"mirrord/replay"
	"mirrord/scheduler/control"
	"mirrord/scheduler/status"
	"mirrord/store/record"
)

// jsonOutput is what one call writes as JSON.
type jsonOutput struct {
	section string // of docs/json.md
	value   any    // of its type; nil: the section describes keys that have no struct
}

// jsonOutputs are the calls of Show, PrintJSON and WriteJSON, by file and function, and by flag where
// one call writes several.
func jsonOutputs() map[string]jsonOutput {
	return map[string]jsonOutput{
		"depot.go copyCommand":             {"cluster push", depots.Pushed{}},
		"depot.go copyCommand --pull":      {"cluster pull", depots.Pulled{}},
		"depot.go clusterDepotCommand":     {"cluster depot", depots.InDepot{}},
		"depot.go removeFromDepot":         {"cluster depot", depots.RemovedFromDepot{}},
		"depot.go collectDepot":            {"cluster gc", depot.DepotCollection{}},
		"check.go check":                   {"check", jobs.CheckedFile{}},
		"client.go runInDaemon":            {"run-now without waiting", nil},
		"client.go Said":                   {"status", status.Job{}},
		"health.go ReloadCommand":          {"daemon reload", control.Reloaded{}},
		"cluster.go clusterStatusCommand":  {"cluster status", cluster.ClusterState{}},
		"jobs.go jobsCommand":              {"cluster jobs", nodes.JobsLook{}},
		"demo.go run":                      {"run-now", mirror.Summary{}},
		"console.go ConsoleCommand":        {"console", control.OpenLink{}},
		"open.go OpenCommand":              {"console", control.OpenLink{}},
		"diff.go runDiff":                  {"diff", look.Difference{}},
		"explain.go ExplainCommand":        {"explain", report.Explanation{}},
		"export.go export":                 {"export", archives.Exported{}},
		"find.go FindCommand":              {"find", search.FoundTexts{}},
		"forget.go ForgetCommand":          {"forget", care.Forgetting{}},
		"forget.go printForgotten":         {"forget", scope.TakeDowns{}},
		"forgetaddress.go forgetAddresses": {"forget --address", care.Forgotten{}},
		"gc.go GCCommand":                  {"gc", care.Collected{}},
		"explain.go explainFile":           {"explain", archives.FileExplanation{}},
		"explain.go sinceWhen":             {"explain", look.Wording{}},
		"import.go printImported":          {"import", archives.Imported{}},
		"init.go InitCommand":              {"init", jobs.NewJobFile{}},
		"joblife.go RemoveCommand":         {"remove", life.Removal{}},
		"joblife.go RenameCommand":         {"rename", life.Renamed{}},
		"notifytest.go reportTold":         {"daemon notify", control.Told{}},
		"plan.go PlanCommand":              {"plan", report.PlanReport{}},
		"plan.go prices":                   {"plan --price", runs.PriceReport{}},
		"tune.go TuneCommand":              {"tune", runs.TuneReport{}},
		"plan.go evolution":                {"evolution", report.Evolution{}},
		"plan.go rules":                    {"rules", report.SiteRules{}},
		"plan.go rulesTogether":            {"rules", report.Associations{}},
		"preview.go printPreview":          {"plan URL", runs.Preview{}},
		"replay.go runReplay":              {"replay", replay.PolicyReport{}},
		"replicas.go replicaFind":          {"replicas", replicas.Replicas{}},
		"apply.go applyDelta":              {"import --delta", archives.Updated{}},
		"replicatests.go replicaVerify":    {"replicas --verify", replicas.ReplicaPair{}},
		"replicatests.go replicaRegistry":  {"replicas --registry", replicas.Registry{}},
		"replicas.go replicaFind --verify": {"replicas --urls --verify", replicas.Study{}},
		"replicas.go replicaFind --urls":   {"replicas --hosts", replicas.Candidates{}},
		"cli.go PrintSummary":              {"run-now", mirror.Summary{}},
		"space.go showSpaces":              {"space", spaces.LookedSpace{}},
		"space.go printArchived":           {"export --space", archives.ExportedSpace{}},
		"status.go printStatuses":          {"status", status.Job{}},
		"status.go printStatus":            {"status", status.Job{}},
		"status.go printRuns":              {"status", status.Run{}},
		"verify.go printVerified":          {"verify", care.Verified{}},
		"repair.go runMend":                {"repair", care.Repaired{}},
		"repair.go runRebuild":             {"repair --rebuild", care.Rebuilt{}},
		"token.go tokenAddCommand":         {"console token", jobs.TokenInfo{}},
		"token.go tokenListCommand":        {"console token", jobs.TokenInfo{}},
		"user.go withPassword":             {"console user", jobs.UserInfo{}},
		"user.go userListCommand":          {"console user", jobs.UserInfo{}},
		"the daemon":                       {"/status.json", status.Daemon{}},
		"versions.go printVersions":        {"status --versions", record.Version{}},
	}
}

// docs/json.md describes every field of what commands write as JSON. A new call is missing from the table; a
// new field from the page.
func TestJSONIsDescribed(t *testing.T) {
	const page = "../../docs/json.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for _, command := range strings.Split(title, ", ") {
			sections[command] = body
		}
	}
	outputs, calls := jsonOutputs(), jsonCalls(t)
	for _, call := range calls {
		if _, ok := outputs[call]; !ok {
			t.Errorf("%s writes JSON: name its section of %s", call, page)
		}
	}
	for call, out := range outputs {
		function, _, _ := strings.Cut(call, " --")
		if call != "the daemon" && !slices.Contains(calls, function) {
			t.Errorf("%s writes no JSON", call)
		}
		if sections[out.section] == "" {
			t.Errorf("%s: there is no section %q", page, out.section)
			continue
		}
		for name := range jsonNames(reflect.TypeOf(out.value), nil) {
			if !strings.Contains(sections[out.section], "`"+name+"`") {
				t.Errorf("%s: the section %q says nothing of `%s` (%s)", page, out.section, name, call)
			}
		}
	}
}

// jsonCalls are the functions of all commands that write JSON, as keys of jsonOutputs.
func jsonCalls(t *testing.T) (calls []string) {
	t.Helper()
	names, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name == "PrintJSON" || f.Name.Name == "Show" {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if ok && slices.Contains([]string{"PrintJSON", "WriteJSON", "Show"}, s.Sel.Name) {
					calls = append(calls, filepath.Base(name)+" "+f.Name.Name)
				}
				return true
			})
		}
	}
	return calls
}

// jsonNames are the names of all fields below a type. above are the types around it.
func jsonNames(t reflect.Type, above map[reflect.Type]bool) map[string]bool {
	out := map[string]bool{}
	published := t == reflect.TypeFor[phm.Meta]() || t == reflect.TypeFor[phm.File]() // docs/phm.md has them
	if t == nil || above[t] || published {
		return out
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer, reflect.Map:
		return jsonNames(t.Elem(), above)
	case reflect.Struct:
		inside := map[reflect.Type]bool{t: true}
		maps.Copy(inside, above)
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" || (name == "" && !f.Anonymous) {
				continue
			}
			if name != "" {
				out[name] = true
			}
			maps.Copy(out, jsonNames(f.Type, inside))
		}
	}
	return out
}
