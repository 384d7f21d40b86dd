// SPDX-License-Identifier: Apache-2.0

// Package crawl is phase one of a run: everything that is requested of the site and its replicas.
//
//	load       load.go: the URLs that the site knows, and what earlier runs found of them
//	plan       advice.go, stages.go: package revisit decides what needs no request; what is to be requested
//	           first enters the frontier in stages
//	retrieve   retrieve.go: package frontier hands out URLs, package process finds the outcome of each, and
//	           apply.go writes what was found. It is committed in batches, so that a run can be killed at any
//	           moment and resumed.
//	end        circles.go, soft404.go: what is requested when nothing else is left
//
// sources.go and tools.go make the rooms below from the session.
package crawl
