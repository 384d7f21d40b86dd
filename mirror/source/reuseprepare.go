// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mirrord/internal/count"
	"mirrord/mirror/result"
	"mirrord/mirror/urls"
	"mirrord/site"
	"mirrord/store/home"
	"mirrord/store/record"
)

// reuseKept is how old the last run of the other mirror may be, and for how long what was taken stays as it
// is while that mirror cannot be used; then everything is requested of the site.
const reuseKept = 30 * 24 * time.Hour

// Prepare reads what the other mirror holds, and verifies it when it is time. note is what the summary says
// of it, "" for nothing. When ctx ends, the run does.
func (x *ReuseSource) Prepare(ctx context.Context) (note string, err error) {
	from := x.Provenance
	if from.Job == "" {
		return "", nil
	}
	last, err := lastReuse(x.Facts)
	if err != nil {
		return "", err
	}
	known := last.Job == from.Job && last.From == from.From && last.At == from.At
	tooLong := !last.used().IsZero() && x.Now().Sub(last.used()) > reuseKept
	files, err := x.list()
	if note := x.unusable(files, err, last, tooLong); note != "" {
		return note, nil
	}
	if !known || x.Now().Sub(last.Verified).Abs() > reuseFor { // a clock may have been wrong then
		v, err := x.verify(ctx, files)
		switch {
		case err != nil: // the run ends
			x.mode = reuseKeeps
			return "", nil
		case !v.said && tooLong: // the site may have it no more
			const form = "reuse: only %s of %s could be compared with the site's, and none were taken " +
				"since %s: " +
				"everything is requested from the site%s"
			return fmt.Sprintf(form, count.Of(v.record.Same, "file"), from.Job,
				last.used().Format(time.DateOnly), v.why), nil
		case !v.said:
			x.mode = reuseKeeps
			const form = "reuse: only %s of %s could be compared with the site's: nothing new is taken%s"
			return fmt.Sprintf(form, count.Of(v.record.Same, "file"), from.Job, v.why), nil
		}
		last = v.record
	}
	if now := x.Now(); last.Differs == "" && now.Sub(last.Used).Abs() >= 24*time.Hour {
		last.Used = now.UTC()
	}
	if err := urls.WriteFact(x.Facts, urls.ReuseFact, last); err != nil {
		x.mode = reuseKeeps
		return "", err
	}
	if last.Differs != "" {
		why := cmp.Or(last.Why, "was another file than the mirror of "+from.Job+" has")
		const form = "reuse: %s %s, on %s: everything is requested from the site"
		return fmt.Sprintf(form, last.Differs, why, last.Verified.Format(time.DateOnly)), nil
	}
	if x.docs, err = x.Mirrors.Documents(from.Job); err != nil {
		x.mode = reuseKeeps
		return fmt.Sprintf("reuse: %v", err), nil
	}
	x.mode, x.files = reuseTakes, files
	return "", nil
}

// unusable says why the list of the other mirror's files cannot be used in this run, "" when it can. What was
// taken of the mirror stays as it is for some time.
func (x *ReuseSource) unusable(
	files map[string]reusedFile, err error, last reuseRecord, tooLong bool,
) string {
	from := x.Provenance
	switch {
	case errors.Is(err, home.ErrNoSite):
		return fmt.Sprintf("reuse: there is no mirror of %s: everything is requested from the site", from.Job)
	case err != nil && tooLong:
		const form = "reuse: the mirror of %s could not be used since %s: everything is requested from the site: %v"
		return fmt.Sprintf(form, from.Job, last.used().Format(time.DateOnly), err)
	case err != nil:
		x.mode = reuseKeeps
		const form = "reuse: the mirror of %s cannot be used in this run, what was taken of it stays as it is: %v"
		return fmt.Sprintf(form, from.Job, err)
	case len(files) == 0:
		const form = "reuse: the mirror of %s has nothing under %s: reuse.from must begin as the addresses of " +
			"its files do"
		return fmt.Sprintf(form, from.Job, from.From)
	}
	return ""
}

// list reads the records of the other mirror. A run of it may be under way: what it found and did not publish
// is not reused.
func (x *ReuseSource) list() (files map[string]reusedFile, err error) {
	from := x.Provenance
	s, err := x.Mirrors.ViewSite(from.Job)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	runs, err := x.Runs(from.Job, 1) // after the view: of the run that the view is of, or of a later one
	if err != nil {
		return nil, err
	}
	live, err := s.Versions.Last()
	if err != nil {
		return nil, err
	}
	finished := (len(runs) == 0) || (runs[0].Verdict == result.Complete.String()) ||
		(runs[0].Verdict == result.Gaps.String())
	if !finished {
		return nil, fmt.Errorf("its last run was %s", runs[0].Verdict)
	}
	// Its job was removed, or renamed, and the mirror is left.
	if len(runs) > 0 && x.Now().Sub(runs[0].Ended) > reuseKept {
		return nil, fmt.Errorf("its last run was on %s", runs[0].Ended.Format(time.DateOnly))
	}
	chain, err := lastReuse(s.Notes)
	if err != nil {
		return nil, err
	}
	under, _, err := site.Parse(from.From)
	if err != nil {
		return nil, err
	}
	files = map[string]reusedFile{}
	once := map[string]string{}
	intern := func(s string) string {
		if v, ok := once[s]; ok {
			return v
		}
		s = strings.Clone(s)
		once[s] = s
		return s
	}
	err = s.Records.ResourcesUnder(under, func(rec *record.Resource) error {
		rest, ok := strings.CutPrefix(rec.URL.String(), from.From)
		if !ok || (rec.Changed > live.Number) || !isReusable(rec) || !chain.owns(rec) {
			return nil
		}
		files[strings.Clone(rest)] = reusedFile{
			mime:     intern(rec.MIME),
			charset:  intern(rec.Charset),
			modified: rec.Modified,
			checked:  rec.Checked,
			size:     rec.Size,
			digest:   rec.Digest,
			body:     rec.Body,
			at:       rec.At,
		}
		return nil
	})
	return files, err
}

// isReusable reports whether a record of another mirror has a body that can be taken as it is. The last good
// copy of a lost resource is not.
func isReusable(rec *record.Resource) bool {
	return rec.InSet && rec.Outcome != site.Failed && rec.Body != record.NoBody && !rec.NoFollow &&
		!urls.IsSitemap(rec)
}

// owns reports whether a body of a mirror is that site's. What the mirror reuses itself is, as far as its
// verification says so; what a replica sent is not.
func (v *reuseRecord) owns(rec *record.Resource) bool {
	verified := v.Job != "" && v.Differs == ""
	return rec.Source == "" || (verified && urls.TakenFrom(rec, v.From, v.At))
}
