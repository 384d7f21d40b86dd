// SPDX-License-Identifier: Apache-2.0

// Package blobs keeps bodies that are published as they came, by their SHA-256: what the store asks of such a
// keeper (Bodies), the folder of one machine (Blobs), bodies on their way in (Spool), and the beginnings of
// large ones that have not come whole (Parts). It knows no record and no site: callers
// say which bodies are used.
package blobs
