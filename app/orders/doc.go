// SPDX-License-Identifier: Apache-2.0

// Package orders makes mirrors that users order: a preview of a few requests, a queue, one run, archives that
// can be downloaded for some days, and mail when they are ready. It follows the forms of Kovács, Micsik and
// Schermann, An Environment for Mirroring Hypermedia Documents (1996).
//
// An Order is a user's request (Wish) and its outcome. Limits say what each user may have in a day.
// Orders keeps them and does the work; its state outlives the process (Facts), and an order that a stop of
// the daemon interrupted continues.
//
// An order runs in a state of its own, STATE/orders/N, which is removed when its archives are made. It never
// connects to a private address or to the network of this machine. The politeness of hosts is shared with the
// jobs of the daemon.
package orders
