// SPDX-License-Identifier: Apache-2.0

package job

import (
	"time"
)

func politeKeys() []Key {
	return []Key{
		{
			Name:    "polite.connections",
			Type:    "number",
			Unit:    "connections",
			Example: "16",
			Doc: "Most connections to one host at a time, over all jobs of the daemon. A Crawl-delay " +
				"makes it 1.",
			Risk: "More than 2 is for a server of your own.",
			min:  1,
			max:  256,
		},
		{
			Name:    "polite.delay",
			Type:    "duration",
			Example: `"1s"`,
			Doc: "Least time between the starts of two requests to one host. A longer Crawl-delay " +
				"wins.",
			Risk: "0s is for a server of your own.",
		},
		{
			Name:    "polite.factor",
			Type:    "number",
			Unit:    "times",
			Example: "5.0",
			Doc: "The gap is also at least this many times the last response time of the host, so " +
				"that a slow host gets fewer requests.",
			max: 1000,
		},
		{
			Name:    "polite.max_delay",
			Type:    "duration",
			Example: `"5m"`,
			Doc: "Bound of the gap that grows on errors, 429, 503 and slow answers, and shrinks with good " +
				"answers and by half in ten minutes without requests. Crawl-delay and Retry-After are never " +
				"shortened.",
		},
		{
			Name:    "polite.max_wait",
			Type:    "duration",
			Example: `"1h"`,
			Doc: "Longest Retry-After or Crawl-delay that is waited for. A Retry-After concerns its " +
				"URL: when the wait is longer, the URL fails, and no run requests it before its time. " +
				"When several URLs in a row ask to wait, the run pauses for that host and its URLs keep " +
				"their turns, or the host is postponed to a later run. The run is partial when that is " +
				"true of all entry points.",
		},
		{
			Name:    "polite.bandwidth",
			Type:    "rate",
			Example: `"2MB/s"`,
			Doc:     "Most bytes per second of this job. 0 is no limit.",
		},
		{
			Name:    "polite.user_agent",
			Type:    "text",
			Example: `"mirrord (+https://mirror.example.org/about)"`,
			Doc: "Sent with every request. Its first word, up to a slash, is the name that is looked " +
				"up in robots.txt.",
			Risk:  "Say who you are and how to reach you: anonymous clients are blocked first.",
			check: checkUserAgent,
		},
		{
			Name:    "polite.timeout",
			Type:    "duration",
			Example: `"2m"`,
			Doc: "Longest wait for a response header, and longest pause inside a body. The name lookup, " +
				"connection and TLS handshake have a third of it, at most 1m.",
			Risk:  "A long one lets each silent URL hold a connection; a short one fails slow pages.",
			min:   int64(time.Millisecond),
			field: func(j *Job) any { return &j.Polite.HeaderTimeout },
			apply: func(j *Job) { j.Polite.setTimeout() },
		},
		{
			Name:    "polite.min_rate",
			Type:    "rate",
			Example: `"1kB/s"`,
			Doc:     "A body that comes more slowly is given up. 0 is no limit.",
		},
		{
			Name:    "polite.allow_private",
			Type:    "true, false or list of addresses",
			Example: `["10.0.0.0/8:80,443", "wiki.corp.example:8080"]`,
			Doc: "Loopback, private, link-local and unique-local addresses that the job may reach. A " +
				"URL of the job (url, alternates, notify.webhook) that is an IP address, localhost " +
				"or a name of one label is allowed at its port without this key. A list names " +
				"addresses, ranges or hosts, each at the ports after the colon or else at all ports; " +
				"true allows all. A name that was ever public stays refused until mirrord " +
				"forget --address NAME. Cloud metadata addresses are never reached.",
			Risk: "The owner of a page, a redirect or the DNS of a host can make mirrord fetch " +
				"from the addresses allowed here, and it is published.",
		},
		{
			Name:    "polite.http2",
			Type:    "true or false",
			Example: "false",
			Doc:     "Use HTTP/2 where the server offers it.",
		},
	}
}

// setTimeout sets the other times of an exchange by the one for the header.
func (p *Polite) setTimeout() {
	p.IdleTimeout = p.HeaderTimeout
	p.ConnectTimeout = max(time.Millisecond, min(p.HeaderTimeout/3, time.Minute))
}
