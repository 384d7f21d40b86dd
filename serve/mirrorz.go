// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mirrord/scheduler/status"
)

// MirrorzSite is what a MirrorZ site says of itself, and of its mirrors by the names of their jobs. It is
// read from a file.
type MirrorzSite struct {
	Site    MirrorzAbout             `json:"site"`
	Info    []MirrorzInfo            `json:"info"`
	Mirrors map[string]MirrorzExtras `json:"mirrors"`
}

// MirrorzAbout is "site" of mirrorz.json, version 1.7.
type MirrorzAbout struct {
	URL      string `json:"url"`
	Logo     string `json:"logo,omitempty"`
	LogoDark string `json:"logo_darkmode,omitempty"`
	Abbr     string `json:"abbr"`
	Name     string `json:"name,omitempty"`
	Homepage string `json:"homepage,omitempty"`
	Issue    string `json:"issue,omitempty"`
	Request  string `json:"request,omitempty"`
	Email    string `json:"email,omitempty"`
	Group    string `json:"group,omitempty"`
	Disk     string `json:"disk,omitempty"`
	Note     string `json:"note,omitempty"`
	Big      string `json:"big,omitempty"`
	Disable  bool   `json:"disable,omitempty"`
}

// MirrorzInfo is an element of "info": files of a distribution.
type MirrorzInfo struct {
	Distro   string        `json:"distro"`
	Category string        `json:"category"`
	URLs     []MirrorzLink `json:"urls"`
}

// MirrorzLink is a named address.
type MirrorzLink struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// MirrorzExtras replaces what would be said of a mirror.
type MirrorzExtras struct {
	Cname   string `json:"cname"` // default: the name of the job
	Desc    string `json:"desc"`  // default: its title
	URL     string `json:"url"`   // default: a slash and the name of the job
	Help    string `json:"help"`
	Disable bool   `json:"disable"`
	Hide    bool   `json:"hide"` // leave the mirror out
}

// ParseMirrorzSite reads a MirrorzSite. A key that there is not is an error.
func ParseMirrorzSite(text []byte) (*MirrorzSite, error) {
	s := MirrorzSite{Info: []MirrorzInfo{}}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	u, err := url.Parse(s.Site.URL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		return nil, fmt.Errorf("site.url %q is no web address", s.Site.URL)
	case strings.HasSuffix(s.Site.URL, "/"):
		return nil, errors.New("site.url ends with a slash; MirrorZ wants it without")
	case s.Site.Abbr == "":
		return nil, errors.New("site.abbr is missing")
	}
	if s.Info == nil {
		s.Info = []MirrorzInfo{}
	}
	return &s, nil
}

// mirrorz is mirrorz.json.
type mirrorz struct {
	Version float64         `json:"version"`
	Site    MirrorzAbout    `json:"site"`
	Info    []MirrorzInfo   `json:"info"`
	Mirrors []mirrorzMirror `json:"mirrors"`
}

type mirrorzMirror struct {
	Cname    string `json:"cname"`
	Desc     string `json:"desc"`
	URL      string `json:"url"`
	Status   string `json:"status"`
	Help     string `json:"help"`
	Upstream string `json:"upstream"`
	Size     string `json:"size"`
	Disable  bool   `json:"disable,omitempty"`
}

func mirrorzOf(site *MirrorzSite, all []Front) mirrorz {
	out := mirrorz{
		Version: 1.7,
		Site:    site.Site,
		Info:    site.Info,
		Mirrors: []mirrorzMirror{},
	}
	for _, f := range all {
		x := site.Mirrors[f.Name]
		if x.Hide {
			continue
		}
		out.Mirrors = append(out.Mirrors, mirrorzMirror{
			Cname:    cmp.Or(x.Cname, f.Name),
			Desc:     cmp.Or(x.Desc, f.Title),
			URL:      cmp.Or(x.URL, "/"+f.Name),
			Status:   mirrorzStatus(f.Job),
			Help:     x.Help,
			Upstream: f.Upstream,
			Size:     shortSize(f.Bytes),
			Disable:  x.Disable,
		})
	}
	return out
}

// mirrorzStatus is the state of a mirror: a letter and a time for what it does, and others for what follows
// and what was before.
func mirrorzStatus(j status.Job) string {
	part := func(letter string, t *time.Time) string {
		if t == nil {
			return letter
		}
		return letter + strconv.FormatInt(t.Unix(), 10)
	}
	s, old := "U", false
	switch tunasyncStatusOf(j) {
	case tunasyncSuccess:
		s = part("S", j.Complete)
	case tunasyncPreSyncing:
		s, old = part("D", j.Next), true
	case tunasyncSyncing:
		s, old = part("Y", j.Started), true
	case tunasyncFailed:
		s, old = part("F", j.LastRun), true
	case tunasyncPaused:
		s = part("P", j.LastRun)
	}
	if old && j.Complete != nil {
		s += part("O", j.Complete)
	}
	if j.Next != nil && j.Activity == status.Idle {
		s += part("X", j.Next)
	}
	if j.Last == nil && j.Added != nil {
		s += part("N", j.Added)
	}
	return s
}
