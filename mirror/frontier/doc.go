// SPDX-License-Identifier: Apache-2.0

// Package frontier decides which admitted URL is requested next and when its host may be requested, and holds
// what the run knows of the hosts meanwhile.
//
//   - Dispatcher holds the parts of one run, and takes in what robots.txt says.
//   - Frontier holds the URLs that wait, and feeds the workers.
//   - Pacer gives out the turns of hosts inside the job's window.
//   - HostErrors knows which origins and hosts are left for the next run, and why; Origins knows the rules of
//     robots.txt.
//   - HostAdmission lets URLs enter the frontier, and holds those that wait for the sources of evidence.
//   - Workers work on URLs, and pass unused turns on.
//   - RunSlot gives the turn of a run back while the run only waits.
//   - ProgressOf reports how far a run is.
//
// All types are safe for concurrent use unless their comment says otherwise. The package does not request
// anything and does not know what a URL is for: packages crawl and process carry URLs and responses to it.
package frontier
