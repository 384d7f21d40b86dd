// SPDX-License-Identifier: Apache-2.0

// Package nodes makes one of the daemons of a cluster: a request to one of them is answered for all.
//
// Everywhere is a Daemon that passes a request on to the node whose job it concerns, and joins the answers of
// all nodes where a question concerns all jobs. The package also compares job files between nodes and
// copies them from one to another, finds replicas among the mirrors of different nodes, and fetches mirrors
// of other nodes to be read (Reader).
package nodes
