// SPDX-License-Identifier: Apache-2.0

// Package record is what the store knows of a URL and of a run, and the bytes that it writes for that:
// resources, sets of numbers, looks, observations, targets of links, digests, and the batches of results in
// which they go into the log. It opens no file and no database.
package record
