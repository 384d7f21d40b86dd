// SPDX-License-Identifier: Apache-2.0

package ops

import "strings"

// Surface is where operations are offered.
type Surface string

// The surfaces.
const (
	Socket      Surface = "the control socket"
	API         Surface = "the API"
	Console     Surface = "the console"
	CommandLine Surface = "the command line"
)

// Lacking lists the operations that surfaces do not offer, with the reason.
func Lacking() map[Surface]map[string]string {
	out := map[Surface]map[string]string{}
	for _, l := range lacking() {
		if out[l.at] == nil {
			out[l.at] = map[string]string{}
		}
		for name := range strings.FieldsSeq(l.names) {
			out[l.at][name] = l.why
		}
	}
	return out
}

// lack is a reason, and the operations that one surface does not offer for it.
type lack struct {
	at         Surface
	why, names string
}

func lacking() []lack {
	const (
		accounts = "who may have an account is decided on the machine of the daemon"
		beside   = "the command reads the state directory itself"
		pages    = "the answer is a page"
		sessions = "it is about sessions of browsers"
		tokens   = "it is about tokens"
		waits    = "the command needs no daemon for it, and may work for hours"
	)
	return []lack{
		{Socket, accounts, "user token"},
		{Socket, "it deletes for good: the owner of the state directory does it with the command",
			"forget removeJob"},
		{Socket, beside,
			"versions find diff explain plan changes rules tune replicas spaces audit"},
		{Socket, waits, "verify export import index"},
		{Socket, "job files are edited on the machine itself", "createJob readFile changeFile"},
		{Socket, "it is run with accept set", "accept"},
		{Socket, "GET /metrics and status have it", "metrics listJobs"},
		{Socket, tokens, "whoAmI hook"},
		{Socket, "the API has its description", "describe"},
		{Socket, sessions, "users logoutUser"},
		{Socket, "orders belong to users, of which the socket has none",
			"settings listOrders draftOrder order placeOrder cancelOrder judgeOrder keepOrder orderFile"},

		{API, accounts, "user token login"},
		{API, sessions, "users logoutUser"},
		{API, "it is run with accept set", "accept"},
		{API, "nodes of a cluster and the command ask for it through the socket", "gather"},
		{API, pages, "diff explain plan changes rules tune replicas spaces settings keepOrder index"},
		{API, "an order has archives that are downloaded", "export"},
		{API, waits, "verify import"},

		{Console, accounts, "user token"},
		{Console, "each browser has a page of its own for it", "listJobs runs whoAmI"},
		{Console, "it is for programs", "metrics describe hook gather login registry"},
		{Console, "the daemon reads job files by itself, and after a change in the editor", "reload"},
		{Console, waits, "verify import rules tune"},
		{Console, "job files are written on the machine, or come from orders", "createJob"},

		{CommandLine, "the log is about what the console and the API did", "audit"},
		{CommandLine, "it is for programs", "metrics whoAmI describe hook register"},
		{CommandLine, sessions, "users logoutUser settings"},
		{CommandLine, "an editor does it", "readFile changeFile"},
		{CommandLine, "orders belong to users of the console and tokens of the API",
			"listOrders draftOrder order placeOrder cancelOrder judgeOrder keepOrder orderFile"},
	}
}
