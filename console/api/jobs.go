// SPDX-License-Identifier: Apache-2.0

package api

import (
	"io"
	"net/http"
	"strings"

	"mirrord/app/jobs"
)

// newJob asks for a job: a URL is enough, or a whole job file.
type newJob struct {
	Job      string `json:"job"` // its name; without one it is made from the URL. Required with text
	URL      string `json:"url"`
	Schedule string `json:"schedule"` // such as @daily; without one the job runs by hand
	Text     string `json:"text"`     // a job file, instead of URL and Schedule
	Paused   bool   `json:"paused"`   // no run begins before the job is resumed
}

// savedJob is a job file that was written.
type savedJob struct {
	Job      string   `json:"job"`
	ETag     string   `json:"etag"`                // for the next change
	Warnings []string `json:"warnings,omitempty"`  // of what will go wrong although the file is accepted
	First    string   `json:"first_run,omitempty"` // when its first run comes, such as "runs now"
}

// problemsError lists the problems of a job file, of which there is at least one.
type problemsError struct{ all []jobs.JobFileError }

func (e *problemsError) Error() string {
	p := e.all[0]
	return strings.TrimPrefix(p.Key+": "+p.Message, ": ")
}

// createJob writes a new job file and puts it in force.
func createJob(c *call) error {
	var n newJob
	if err := c.body(&n); err != nil {
		return err
	}
	made, bad, err := jobs.CreateJob(c.App, jobs.InitRequest{
		URL:      n.URL,
		Job:      n.Job,
		Schedule: n.Schedule,
		Paused:   n.Paused,
	}, []byte(n.Text))
	if err == nil && len(bad) > 0 {
		err = &problemsError{bad}
	}
	if err != nil {
		return err
	}
	c.job = made.Job
	c.reload()
	c.w.Header().Set("Location", "/v1/jobs/"+made.Job)
	return c.saved(http.StatusCreated, made.First, nil)
}

// reload puts job files in force. When that fails they are in force a little later.
func (c *call) reload() {
	if _, err := c.Daemon.Reload(); err != nil {
		c.Log.Warn("the jobs were not read after a change", "err", err)
	}
}

// saved answers with the job file as it is now.
func (c *call) saved(code int, first string, warnings []string) error {
	t, err := jobs.ReadJobText(c.App, c.job)
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", etag(t))
	c.send(code, savedJob{
		Job:      c.job,
		ETag:     etag(t),
		Warnings: warnings,
		First:    first,
	})
	return nil
}

func etag(t *jobs.JobText) string { return `"` + t.Tag + `"` }

// text reads the file of a job that the daemon knows.
func (c *call) text() (*jobs.JobText, error) {
	if _, err := c.Daemon.Progress(c.job); err != nil {
		return nil, err
	}
	return jobs.ReadJobText(c.App, c.job)
}

// readFile sends a job file.
func readFile(c *call) error {
	t, err := c.text()
	if err != nil {
		return err
	}
	c.w.Header().Set("ETag", etag(t))
	c.w.Header().Set("Content-Type", "application/toml")
	c.w.Write(t.Text) // an error means that the client has disconnected
	return nil
}

// match reads the tag of the text that a change is made from.
func (c *call) match() (string, error) {
	tag := strings.TrimSpace(c.r.Header.Get("If-Match"))
	if len(tag) < 2 || tag[0] != '"' || tag[len(tag)-1] != '"' {
		return "", errNoMatch
	}
	return strings.Trim(tag, `"`), nil
}

// changeFile replaces a job file.
func changeFile(c *call) error {
	tag, err := c.match()
	if err != nil {
		return err
	}
	text, err := io.ReadAll(c.r.Body)
	if err != nil {
		return err
	}
	if _, err := c.text(); err != nil {
		return err
	}
	e := jobs.JobEdit{Job: c.job, Text: text, Tag: tag}
	checked, err := jobs.CheckEdit(c.App, e)
	switch {
	case err != nil:
		return err
	case checked.Moved:
		return jobs.ErrJobMoved
	case len(checked.Errors) > 0:
		return &problemsError{checked.Errors}
	}
	if err := c.Save(e); err != nil {
		return err
	}
	c.reload()
	return c.saved(http.StatusOK, checked.First, checked.Warnings)
}

// confirmed checks that a deletion is only planned, or was planned with the job file as it is.
func (c *call) confirmed() error {
	t, err := c.text()
	if err != nil || c.r.URL.Query().Has("dry_run") {
		return err
	}
	tag, err := c.match()
	if err == nil && tag != t.Tag {
		err = jobs.ErrJobMoved
	}
	return err
}
