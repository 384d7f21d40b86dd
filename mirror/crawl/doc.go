// SPDX-License-Identifier: Apache-2.0

// Package crawl is phase one of a run: everything that is requested of the site and its replicas.
//
//	load    load.go: the URLs that the site knows, and what earlier runs found of them
//	plan    setup.go: what decides which URLs enter the frontier
//	start   setup.go: what stores bodies and writes findings
//	crawl   skipplan.go, stages.go: package revisit decides what needs no request; URLs to request
//	        first enter the frontier in stages. Package frontier hands out URLs, package process finds the
//	        outcome of each, and apply.go writes it. It is committed in batches, so that a run can be killed
//	        at any moment and resumed.
//	end     circles.go, soft404.go: the last requests, when no other is left
//
// Each step makes a value from that of the step before (loaded, planned, crawling), so that none uses a part
// that is not made yet. sources.go and setup.go make the rooms below from the session.
package crawl
