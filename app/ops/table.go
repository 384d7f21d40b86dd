// SPDX-License-Identifier: Apache-2.0

package ops

import "mirrord/app/access"

// daemonOps are the operations on the daemon, or on all that it has.
func daemonOps() []Operation {
	const read, order, operate = access.Read, access.Order, access.Operate
	return []Operation{
		{"status", Daemon, read, Reads, All, "GET /v1/status", "Show jobs and their last runs", ""},
		{"listJobs", Daemon, read, Reads, All, "GET /v1/jobs", "List jobs by name, in pages", ""},
		{"metrics", Daemon, read, Reads, Here, "GET /v1/metrics",
			"Write metrics in the text format of Prometheus", ""},
		{"registry", Daemon, read, Reads, All, "GET /v1/registry",
			"List mirrors and equivalents of their URLs", ""},
		{"replicas", Daemon, read, Reads, Here, "", "Find replicated collections", ""},
		{"gather", Daemon, operate, Changes, All, "", "Bring what other nodes know of the pages of their mirrors",
			""},
		{"find", Daemon, read, Reads, Here, "GET /v1/find", "Search the texts of all mirrors", ""},
		{"index", Daemon, operate, Changes, Here, "", "Make the index of texts",
			"The index of texts is being made. That takes some minutes."},
		{"spaces", Daemon, read, Reads, Here, "", "Show spaces", ""},
		{"audit", Daemon, operate, Reads, All, "GET /v1/audit", "List the last acts, newest first", ""},
		{"reload", Daemon, operate, Changes, Here, "POST /v1/reload", "Read the job files again",
			"The job files were read again."},
		{"settings", Daemon, operate, Changes, Here, "", "Set the limits of orders",
			"The settings are in force."},
		{"users", Daemon, operate, Reads, Here, "", "List users", ""},
		{"logoutUser", Daemon, operate, Changes, Here, "", "End the sessions of a user",
			"The user is logged out."},
		{"user", Daemon, operate, Changes, Here, "", "Let people log in to the console", ""},
		{"token", Daemon, operate, Changes, Here, "", "Let programs use the daemon's API", ""},
		{"login", Daemon, operate, Changes, Here, "", "Log in to the console in a browser", ""},
		{"whoAmI", Daemon, read, Reads, Here, "GET /v1/me", "Show whose token was sent", ""},
		{"describe", Daemon, access.Nobody, Reads, Here, "GET /v1/openapi.yaml", "Describe the API", ""},
		{"createJob", Daemon, operate, Changes, Here, "POST /v1/jobs", "Write a job file for a site", ""},
		{"import", Daemon, operate, Changes, Here, "", "Make a mirror of an archive", ""},
		{"listOrders", Daemon, order, Reads, All, "GET /v1/orders",
			"List orders, newest first, in pages; for operators all", ""},
		{"draftOrder", Daemon, order, Changes, Here, "POST /v1/orders",
			"Preview an order; it runs when it is placed", ""},
	}
}

// jobOps are the operations on one job, or on its mirror.
func jobOps() []Operation {
	const read, order, operate = access.Read, access.Order, access.Operate
	return []Operation{
		{"job", Job, read, Reads, Owner, "GET /v1/jobs/{job}",
			"Show a job with the report of its last run", ""},
		{"runs", Job, read, Reads, Owner, "GET /v1/jobs/{job}/runs", "List the last runs, newest first", ""},
		{"versions", Job, read, Reads, Holder, "GET /v1/jobs/{job}/versions",
			"List a mirror's versions", ""},
		{"diff", Job, read, Reads, Holder, "", "Compare two versions of a mirror", ""},
		{"explain", Job, read, Reads, Holder, "", "Explain why a URL is mirrored or not", ""},
		{"plan", Job, read, Reads, Holder, "", "Show what the next run requests", ""},
		{"changes", Job, read, Reads, Holder, "", "Show how directories change", ""},
		{"rules", Job, read, Reads, Holder, "", "List directories that seldom change", ""},
		{"tune", Job, read, Reads, Holder, "", "Propose a price for a job", ""},
		{"verify", Job, operate, Changes, Here, "", "Check a mirror or archive", ""},
		{"export", Job, order, Reads, Holder, "", "Write a mirror to a file", ""},
		{"run", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/run", "Run a job now",
			"The run was requested."},
		{"accept", Job, operate, Changes, Owner, "", "Publish what was held back",
			"What was held back is being published."},
		{"cancel", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/cancel", "End the run of a job",
			"The run ends; what it has is kept, and the next one goes on from there."},
		{"pause", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/pause", "Suspend a job",
			"The job is paused: no run starts until it is resumed."},
		{"resume", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/resume", "End a pause",
			"The job is resumed."},
		{"notify", Job, operate, Changes, Owner, "POST /v1/jobs/{job}/notify",
			"Send a test notification to all receivers of a job", ""},
		{"register", Job, operate, Changes, Holder, "POST /v1/jobs/{job}/equivalents",
			"Register a place that has what the mirror of the job has; it is tested first", ""},
		{"readFile", Job, operate, Reads, Here, "GET /v1/jobs/{job}/file", "Read the job file", ""},
		{"changeFile", Job, operate, Changes, Here, "PUT /v1/jobs/{job}/file", "Replace the job file",
			"The job file was saved and is in force."},
		{"removeJob", Job, operate, Deletes, Here, "DELETE /v1/jobs/{job}", "Delete a job and its mirror", ""},
		{"rename", Job, operate, Changes, Here, "", "Rename a job and its mirror", ""},
		{"rollback", Job, operate, Changes, Holder, "", "Publish an older version again",
			"The older version is published again, and stays while the site is as it was."},
		{"gc", Job, operate, Deletes, Holder, "", "Drop old versions, free space",
			"What nothing refers to was freed."},
		{"forget", Job, operate, Deletes, Here, "", "Delete URLs from a mirror", ""},
		{"hook", Job, access.Nobody, Changes, Here, "POST /v1/hook/{job}",
			"Start a run a little later, by a call that is signed as the Standard Webhooks say", ""},
	}
}

// orderOps are the operations on one order.
func orderOps() []Operation {
	const order, operate = access.Order, access.Operate
	return []Operation{
		{"order", Order, order, Reads, Holder, "GET /v1/orders/{n}",
			"Show an order: preview, place in the queue, progress, result", ""},
		{"placeOrder", Order, order, Changes, Holder, "POST /v1/orders/{n}/place",
			"Put a draft into the queue", ""},
		{"cancelOrder", Order, order, Changes, Holder, "POST /v1/orders/{n}/cancel",
			"Cancel an order, or end its run", ""},
		{"judgeOrder", Order, operate, Changes, Holder, "POST /v1/orders/{n}/judge",
			"Approve an order that waits for an operator, or refuse it", ""},
		{"keepOrder", Order, order, Changes, Holder, "", "Keep the mirror of an order fresh", ""},
		{"orderFile", Order, order, Reads, Holder, "GET /v1/orders/{n}/files/{name}",
			"Download an archive of an order that is done", ""},
	}
}
