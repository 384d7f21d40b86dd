// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func walkRobots(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(robots("User-agent: *\nDisallow: /\nAllow: /open/\n"))
	w.job(w.site.URL + "/")
	w.lasts("its robots.txt forbids that", "change url or scope in the job's file")
	w.job(w.site.URL + "/open/")
	w.gone()
}

func walkRobotsLead(t *testing.T, cause string) {
	w := newWalk(t, cause)
	w.answers(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.Redirect(rw, r, "http://nowhere.invalid/robots.txt", http.StatusMovedPermanently)
			return
		}
		page(rw, r)
	})
	w.job(w.site.URL + "/")
	w.lasts("its robots.txt redirects to http://nowhere.invalid/robots.txt",
		"set obey_robots = false in the job's")
	w.job(w.site.URL+"/", "obey_robots = false")
	w.gone()
}

func walkRobotsLeadInside(t *testing.T, cause string) {
	for _, cure := range []string{"obey_robots = false", "polite.allow_private = [%s]"} {
		w := newWalk(t, cause)
		inside := strings.Replace(w.site.URL, "127.0.0.1", "inside.test", 1) + "/rules.txt"
		w.answers(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.Redirect(rw, r, inside, http.StatusMovedPermanently)
				return
			}
			page(rw, r)
		})
		w.job(w.site.URL + "/")
		w.lasts("its robots.txt redirects to "+inside+", and inside.test at 127.0.0.1 is a loopback address",
			"set obey_robots = false or add", "to allow_private of the table [polite]")
		if strings.Contains(cure, "%s") {
			cure = fmt.Sprintf(cure, regexp.MustCompile(`"inside[^"]*"`).FindString(w.was.Fix))
		}
		w.job(w.site.URL+"/", cure)
		w.gone()
	}
}
