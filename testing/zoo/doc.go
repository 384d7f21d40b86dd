// SPDX-License-Identifier: Apache-2.0

// Package zoo plays imperfect web sites against whole runs of mirrord: it is the proof that one broken part
// of a site does not freeze the rest of its mirror.
//
// A [Site] is a value: pages, and how the site misbehaves by run, time, visitor and part. A [Net] serves it
// in memory: names, addresses, ports, TLS and HTTP/1.1 as package net/http speaks it, so that the real client
// of package fetch is part of each test. In a synctest bubble an outage of hours costs nothing. An
// [Exhibit] is a site with a job and a table of what must be true after some of its runs: the published
// pages, the verdict, what the summary says, and how many requests were made.
//
// Only tests import this package. The exhibits are in its tests.
package zoo
