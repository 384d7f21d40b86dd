// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
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
	w.lasts("its robots.txt leads to http://nowhere.invalid/robots.txt", "set obey_robots = false in the job's")
	w.job(w.site.URL+"/", "obey_robots = false")
	w.gone()
}
