// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"net/http"

	"mirrord/scheduler/control"
)

// CallsOf is the handler of what nodes ask of one another. Package app/ops, which has it, imports this one:
// TestMain sets it.
var CallsOf func(control.API) http.Handler
