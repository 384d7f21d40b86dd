// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"mirrord/app/access"
	"mirrord/scheduler/control"
)

// daemonOps are the operations on the daemon, or on all that it has.
func daemonOps() []Operation {
	const read, order, operate = access.Read, access.Order, access.Operate
	return []Operation{
		{"status", Daemon, read, Reads, All, "GET /v1/status", "Show jobs and their last runs", "",
			ofDaemon(showStatus)},
		{"listJobs", Daemon, read, Reads, All, "GET /v1/jobs", "List jobs by name, in pages", "", nil},
		{"metrics", Daemon, read, Reads, Here, "GET /v1/metrics",
			"Write metrics in the text format of Prometheus", "", nil},
		{"registry", Daemon, read, Reads, All, "GET /v1/registry",
			"List mirrors and equivalents of their URLs", "", ofDaemon(control.API.Registry)},
		{"replicas", Daemon, read, Reads, Here, "", "Find replicated collections", "", nil},
		{"gather", Daemon, operate, Changes, All, "POST /v1/replicas",
			"Bring what other nodes know of the pages of their mirrors",
			"", does(gather)},
		{"find", Daemon, read, Reads, Here, "GET /v1/find", "Search the texts of all mirrors", "", nil},
		{"index", Daemon, operate, Changes, Here, "", "Build the index of texts",
			"The index of texts is being made. That takes some minutes.", nil},
		{"spaces", Daemon, read, Reads, Here, "", "Show spaces", "", nil},
		{"audit", Daemon, operate, Reads, All, "GET /v1/audit", "List the last acts, newest first", "", nil},
		{"reload", Daemon, operate, Changes, Here, "POST /v1/reload", "Read the job files again",
			"The job files were read again.", ofDaemon(control.API.Reload)},
		{"settings", Daemon, operate, Changes, Here, "", "Set the limits of orders",
			"The settings are in force.", nil},
		{"users", Daemon, operate, Reads, Here, "", "List users", "", nil},
		{"logoutUser", Daemon, operate, Changes, Here, "", "End the sessions of a user",
			"The user is logged out.", nil},
		{"user", Daemon, operate, Changes, Here, "", "Let people log in to the console", "", nil},
		{"token", Daemon, operate, Changes, Here, "", "Let programs use the daemon's API", "", nil},
		{"login", Daemon, operate, Changes, Here, "POST /v1/console",
			"Log in to the console in a browser", "", does(login)},
		{"whoAmI", Daemon, read, Reads, Here, "GET /v1/me", "Show whose token was sent", "", nil},
		{"describe", Daemon, access.Anonymous, Reads, Here, "GET /v1/openapi.yaml", "Describe the API", "", nil},
		{"createJob", Daemon, operate, Changes, Here, "POST /v1/jobs", "Write a job file for a site", "", nil},
		{"import", Daemon, operate, Changes, Here, "", "Make a mirror of an archive", "", nil},
		{"listOrders", Daemon, order, Reads, All, "GET /v1/orders",
			"List orders, newest first, in pages; for operators all", "", nil},
		{"draftOrder", Daemon, order, Changes, Here, "POST /v1/orders",
			"Preview an order; it runs when it is placed", "", nil},
	}
}

// jobOps are the operations on one job, or on its mirror.
func jobOps() []Operation {
	const read, order, operate = access.Read, access.Order, access.Operate
	return []Operation{
		{"job", Job, read, Reads, Owner, "GET /v1/jobs/{job}",
			"Show a job with the report of its last run", "", does(showJob)},
		{"runs", Job, read, Reads, Owner, "GET /v1/jobs/{job}/runs", "List the last runs, newest first", "",
			does(listRuns)},
		{"versions", Job, read, Reads, Holder, "GET /v1/jobs/{job}/versions",
			"List a mirror's versions", "", nil},
		{"diff", Job, read, Reads, Holder, "", "Compare two versions of a mirror", "", nil},
		{"explain", Job, read, Reads, Holder, "", "Explain why a URL is mirrored or not", "", nil},
		{"plan", Job, read, Reads, Holder, "", "Show what the next run requests", "", nil},
		{"changes", Job, read, Reads, Holder, "", "Show how directories change", "", nil},
		{"rules", Job, read, Reads, Holder, "", "List directories that rarely change", "", nil},
		{"tune", Job, read, Reads, Holder, "", "Propose a price for a job", "", nil},
		{"verify", Job, operate, Changes, Here, "", "Check a mirror or archive", "", nil},
		{"export", Job, order, Reads, Holder, "", "Write a mirror to a file", "", nil},
		{"run", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/run", "Run a job now",
			"The run was requested.", does(run)},
		{"accept", Job, operate, Changes, Owner, "", "Publish a run that is held for review",
			"The run that was held for review is being published.", nil},
		{"cancel", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/cancel", "End the run of a job",
			"The run ends; it keeps what it has fetched, and the next one continues from there.",
			onJob(control.API.Cancel)},
		{"pause", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/pause", "Suspend a job",
			"The job is paused: no run starts until it is resumed.", onJob(control.API.Pause)},
		{"resume", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/resume", "Resume a paused job",
			"The job is resumed.", onJob(control.API.Resume)},
		{"notify", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/notify",
			"Send a test notification",
			"The test message was delivered to all receivers of the job.", does(notifyTest)},
		{"register", Job, operate, Changes, Holder, "POST /v1/jobs/{job}/equivalents",
			"Register a place that has what the mirror of the job has; it is tested first", "", does(register)},
		{"readFile", Job, operate, Reads, Here, "GET /v1/jobs/{job}/file", "Read the job file", "", nil},
		{"changeFile", Job, operate, Changes, Here, "PUT /v1/jobs/{job}/file", "Replace the job file",
			"The job file was saved and is in force.", nil},
		{"removeJob", Job, operate, Deletes, Here, "DELETE /v1/jobs/{job}", "Delete a job and its mirror",
			"The job and its mirror were deleted.", does(remove)},
		{"rename", Job, operate, Changes, Here, "POST /v1/jobs/{job}/rename", "Rename a job and its mirror",
			"The job was renamed.", does(rename)},
		{"rollback", Job, operate, Changes, Holder, "POST /v1/jobs/{job}/rollback",
			"Publish an older version again",
			"The older version is published again, and stays while the site is as it was.", does(rollback)},
		{"gc", Job, operate, Changes, Holder, "POST /v1/jobs/{job}/gc", "Drop old versions, free space",
			"What nothing refers to was freed.", does(collect)},
		{"forget", Job, operate, Deletes, Holder, "POST /v1/jobs/{job}/forget", "Delete URLs from a mirror",
			"It was deleted from the mirror, and is not requested again.", does(forget)},
		{"hook", Job, access.Anonymous, Changes, Here, "POST /v1/hook/{job}",
			"Start a run a little later, by a call that is signed as the Standard Webhooks say", "", nil},
	}
}

// orderOps are the operations on one order.
func orderOps() []Operation {
	const order, operate = access.Order, access.Operate
	return []Operation{
		{"order", Order, order, Reads, Holder, "GET /v1/orders/{n}",
			"Show an order: preview, place in the queue, progress, result", "", nil},
		{"placeOrder", Order, order, Changes, Holder, "POST /v1/orders/{n}/place",
			"Put a draft into the queue", "", nil},
		{"cancelOrder", Order, order, Changes, Holder, "POST /v1/orders/{n}/cancel",
			"Cancel an order, or end its run", "", nil},
		{"judgeOrder", Order, operate, Changes, Holder, "POST /v1/orders/{n}/judge",
			"Approve an order that waits for an operator, or refuse it", "", nil},
		{"keepOrder", Order, order, Changes, Holder, "", "Keep the mirror of an order fresh", "", nil},
		{"orderFile", Order, order, Reads, Holder, "GET /v1/orders/{n}/files/{name}",
			"Download an archive of an order that is done", "", nil},
	}
}
