// SPDX-License-Identifier: Apache-2.0

package job

import (
	"strings"

	"mirrord/site"
)

// Reuse says which part of the site another job mirrors already: what lies under At here lies under From in
// the mirror of Job.
type Reuse struct {
	Job  string // "" for none
	From string // URL of a directory
	At   string // URL of a directory; "" is the job's own base
}

// ReuseAuto as Job, without From, is a reuse that is found by itself.
const ReuseAuto = "auto"

// FindsReuse reports whether the job reuses collections that it finds itself: reuse = "auto".
func (j *Job) FindsReuse() bool { return j.Reuse.Job == ReuseAuto && j.Reuse.From == "" }

// ReusedJob is the job of whose mirror a job says that it reuses it; "" for none.
func (j *Job) ReusedJob() string {
	if j.FindsReuse() {
		return ""
	}
	return j.Reuse.Job
}

func checkReuse(j *Job) error {
	switch r := &j.Reuse; {
	case r.Job == "", j.FindsReuse():
		return nil
	case !ValidName(r.Job):
		return problemf("a job is named by its file, without .toml", "%q cannot name a job", r.Job)
	case r.Job == j.Name:
		return problemf("", "a job cannot reuse its own mirror")
	case r.From == "":
		return problemf(`write reuse.from = "https://www.example.org/manual/"`,
			"reuse.job needs reuse.from: where the collection lies on the site of %s", r.Job)
	}
	return nil
}

func checkDirectory(raw string) error {
	if raw == "" {
		return nil
	}
	if err := checkURL(raw); err != nil {
		return err
	}
	u, fragment, err := site.Parse(strings.TrimSpace(raw))
	if err != nil {
		return err
	}
	if _, query := u.Query(); query || fragment != "" || !strings.HasSuffix(u.Path(), "/") {
		return problemf("write the directory's URL, with a slash at its end and nothing after it",
			"%s is no directory", raw)
	}
	return nil
}

// ReusePrefixes returns the URLs of the two directories in their canonical form; both are empty when nothing
// is reused.
func (j *Job) ReusePrefixes() (from, at string) {
	if j.ReusedJob() == "" {
		return "", ""
	}
	u, _, err := site.Parse(strings.TrimSpace(j.Reuse.From))
	if err != nil {
		return "", ""
	}
	if j.Reuse.At == "" {
		return u.String(), j.Base()
	}
	v, _, err := site.Parse(strings.TrimSpace(j.Reuse.At))
	if err != nil {
		return "", ""
	}
	return u.String(), v.String()
}
