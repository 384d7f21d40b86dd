// SPDX-License-Identifier: Apache-2.0

// Package cluster has the commands of a cluster and of its depot, and joins the daemon to a cluster.
package cluster
