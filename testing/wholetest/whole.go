// SPDX-License-Identifier: Apache-2.0

package wholetest

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/store"
	"mirrord/store/record"
)

// VersionsOf describes the versions of a mirror: when, and the file table of each.
func VersionsOf(t *testing.T, a *env.App, name string) (out []string) {
	t.Helper()
	st, err := a.MustState()
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	var vs []record.Version
	if err := env.View(st, name, func(s *store.Site) error {
		vs, err = s.Versions.List()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		dir := filepath.Join(t.TempDir(), "tree")
		x := archives.ExportRequest{Job: name, Version: v.Number, Out: dir}
		x.Format = "dir"
		if _, err := archives.Export(t.Context(), a, x); err != nil {
			t.Fatal(err)
		}
		table, err := os.ReadFile(filepath.Join(dir, "phm.files"))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v.Time.UTC().Format(time.DateTime)+"\n"+string(table))
	}
	return out
}

func ForgetNow(t *testing.T, a *env.App, name, what string) *care.Forgetting {
	t.Helper()
	f, err := care.PlanForget(a, name, what, "because", math.MaxInt)
	if err == nil {
		err = care.Forget(t.Context(), a, f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}
