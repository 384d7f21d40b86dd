// SPDX-License-Identifier: Apache-2.0

// Package crawl is the motor of a run: which admitted URL is requested next, when its host may be requested,
// and what the run knows of the hosts while it goes on.
//
//   - Motor holds the parts of one run, and takes in what robots.txt says.
//   - Frontier holds the URLs that wait, and feeds the workers.
//   - Gate gives out the turns of hosts inside the job's window.
//   - Troubles knows which origins and hosts are left for the next run, and why; Origins knows robots rules.
//   - Entrance lets URLs enter the frontier; Postponed holds those that wait for the sources of evidence.
//   - Workers work on URLs, and pass unused turns on.
//   - Shift gives the turn of a run back while the run only waits.
//   - ProgressOf says where a run stands.
//
// All types are safe for concurrent use unless their comment says otherwise. The package does not request
// anything and does not know what a URL is for: packages retrieve and exchange carry URLs and
// answers to it.
package crawl
