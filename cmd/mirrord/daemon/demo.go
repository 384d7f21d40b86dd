// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"mirrord/app/archives"
	"mirrord/app/care"
	"mirrord/app/env"
	"mirrord/app/files"
	"mirrord/app/jobs"
	"mirrord/app/look"
	"mirrord/app/runs"
	"mirrord/archive"
	"mirrord/cmd/mirrord/cli"
	"mirrord/internal/count"
	"mirrord/internal/demosite"
	"mirrord/job"
	"mirrord/mirror"
	"mirrord/mirror/result"
	"mirrord/phm"
	"mirrord/scheduler/control"
	"mirrord/store"
)

const (
	DemoName = "kestrel"
	// in the directory of a demo, so that only such a directory is ever emptied
	demoMarker = "THIS-IS-A-MIRRORD-DEMO"
)

func DemoCommand(a *cli.CLI) *cobra.Command {
	dir, serve := "mirrord-demo", false
	return a.Command("demo", cli.Flags{
		"output": &dir,
		"serve":  &serve,
	}, func(cmd *cobra.Command, _ []string) error {
		if !cmd.Flags().Changed("serve") {
			serve = a.Asks && !a.JSON
		}
		d := &demo{CLI: a, dir: dir, site: demosite.New()}
		return d.run(cmd.Context(), serve)
	})
}

// demo is one telling of the story.
type demo struct {
	*cli.CLI
	dir  string
	site *demosite.Handler

	job       *job.Job
	summaries []*mirror.Summary

	week  time.Time // of the story when the run began
	began time.Time // by the machine's clock
}

// now is the time of the story, which runs as fast as that of the machine.
func (d *demo) now() time.Time { return d.week.Add(time.Since(d.began)) }

func (d *demo) say(format string, args ...any) {
	if !d.JSON {
		d.Printf(format+"\n", args...)
	}
}

// run tells the story, and shows what came of it.
func (d *demo) run(ctx context.Context, show bool) error {
	if err := d.prepare(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: d.site, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1) // one result
	go func() { served <- srv.Serve(l) }()
	err = d.story(ctx, "http://"+l.Addr().String()+demosite.Entry)
	if err == nil && d.JSON {
		err = d.PrintJSON(d.summaries)
	}
	if err == nil && show {
		err = d.show(ctx)
	}
	err = errors.Join(err, srv.Close())
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}

// prepare makes an empty directory; only an earlier demo is emptied.
func (d *demo) prepare() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		if _, err := os.Lstat(filepath.Join(d.dir, demoMarker)); err != nil {
			return fmt.Errorf("%s is not empty and holds no earlier demo: name another directory with -o", d.dir)
		}
		if err := os.RemoveAll(d.dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.dir, demoMarker),
		[]byte("mirrord demo empties this directory when it runs again.\n"), 0o644)
}

func (d *demo) story(ctx context.Context, url string) error {
	d.job = job.Default(url)
	d.job.Name = DemoName
	d.job.Publish.Keep = "all"
	set := []string{"polite.connections=4", "polite.delay=0s", "polite.factor=0", "limits.min_free=0",
		"adaptive.learn_for=0s"}
	if err := jobs.Apply(d.job, control.RunRequest{Set: set}); err != nil {
		return err
	}
	st, err := store.OpenState(d.dir, store.Options{Volatile: true, Now: d.now})
	if err != nil {
		return err
	}
	defer st.Close()
	d.say("A small observatory's site is served at %s, for as long as this takes.\nIt has %d versions; "+
		"mirrord keeps a mirror of it in %s.", url, demosite.Versions(), d.dir)
	for v := 1; v <= demosite.Versions(); v++ {
		d.site.SetVersion(v)
		d.say("\nWeek %d: %s.", v, demosite.Changes(v))
		if err := d.mirror(ctx, st, demosite.Published(v).Add(time.Hour)); err != nil {
			return err
		}
		if v == 1 {
			d.say("\nThe same week again: nothing has changed.")
			if err := d.mirror(ctx, st, demosite.Published(v).AddDate(0, 0, 3)); err != nil {
				return err
			}
		}
	}
	return d.end(ctx, st, url)
}

// mirror makes one run, at a time of the story, and tells what the site saw of it.
func (d *demo) mirror(ctx context.Context, st *store.State, at time.Time) error {
	d.week, d.began = at, time.Now()
	s, err := st.OpenSite(DemoName)
	if err != nil {
		return err
	}
	defer s.Close()
	d.site.Requests()
	sum, err := runs.RunSite(ctx, d.App(), d.job, st, s, runs.RunOptions{})
	if err != nil {
		return err
	}
	d.summaries = append(d.summaries, sum)
	asked, unchanged, bytes := 0, 0, 0
	for _, r := range d.site.Requests() {
		asked++
		bytes += r.Bytes
		if r.Status == http.StatusNotModified {
			unchanged++
		}
	}
	d.say("  made      %s, %d answered \"not modified\", %s sent by the site",
		count.Of(asked, "request"), unchanged,
		result.Bytes(int64(bytes)))
	if evidence := sum.Spared["listing"] + sum.Spared["sitemap"]; evidence+sum.Skipped > 0 {
		learned := ""
		if sum.Skipped > 0 {
			learned = fmt.Sprintf(", and %s unlikely to have changed",
				count.Of(sum.Skipped, "was", "were"))
		}
		d.say("  skipped   %s: the sitemap covers %d%s", count.Of(evidence+sum.Skipped, "request"),
			evidence, learned)
	}
	switch {
	case !sum.Verdict.Finished():
		d.say("  result    %s", sum.Verdict.Words())
		for _, why := range sum.Reasons {
			d.say("            %s", why)
		}
		return d.Report(sum, runs.Ended(ctx, sum, nil), cli.Hints{})
	case sum.Published:
		d.say("  published version %d: %s, %s; %d added, %d changed, %d removed", sum.Version,
			count.Of(sum.Files, "file"), result.Bytes(sum.Size), sum.Added, sum.Changed, sum.Removed)
	default:
		d.say("  published nothing: version %d is still what the site is, and no file was touched", sum.Version)
	}
	return nil
}

// end checks the mirror, packs it, explains one URL and says where to look.
func (d *demo) end(ctx context.Context, st *store.State, url string) error {
	root, err := env.OpenTree(st, DemoName)
	if err != nil {
		return err
	}
	defer root.Close()
	report, err := archives.VerifyTree(ctx, root.FS(), true)
	if err != nil {
		return err
	}
	whole, err := d.Text("whole", &care.Verified{Report: report})
	d.say("\nIs it whole? %s.", whole)
	if err := cmp.Or(report.Err(), err); err != nil {
		return err
	}
	file := filepath.Join(d.dir, DemoName+"."+archive.PHM)
	if err := files.ExportTree(ctx, root.FS(), file, archive.Named(file)); err != nil {
		return err
	}
	fi, err := os.Stat(file)
	if err != nil {
		return err
	}
	d.say("One file to hand out: %s, %s.", file, result.Bytes(fi.Size()))
	if err := d.why(ctx, st, url+"private/keeper.html"); err != nil {
		return err
	}
	if err := d.next(st); err != nil {
		return err
	}
	m, err := phm.OpenMeta(root.FS())
	if err != nil {
		return err
	}
	d.say("\nBrowse it, offline: %s",
		fileURL(filepath.Join(d.dir, "sites", DemoName, "current", filepath.FromSlash(m.Entry))))
	return nil
}

// next says what one more run would ask, a week later.
func (d *demo) next(st *store.State) error {
	p, err := look.PlanIn(st, d.job, demosite.Published(demosite.Versions()+1).Add(time.Hour))
	if err != nil {
		return err
	}
	d.say("What would one more run request? At most %d of %d if nothing has changed by then; the sitemap "+
		"will cover some (mirrord plan says why).", p.Asked, p.Known)
	return nil
}

// why explains one URL.
func (d *demo) why(ctx context.Context, st *store.State, raw string) error {
	x, err := look.ExplainIn(ctx, st, d.job, look.ExplainRequest{URL: raw, At: time.Now()})
	if err != nil {
		return err
	}
	d.say("Why is %s not there? %s.", x.URL, x.Answer)
	return nil
}

// fileURL is the address that a browser opens a local file by.
func fileURL(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(name)}).String()
}
