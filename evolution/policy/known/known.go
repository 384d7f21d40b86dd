// SPDX-License-Identifier: Apache-2.0

// Package known is the registry of policies: to add one, write its package and add a line here. The job file,
// its reference, the engine and replay take the policies from All.
package known

import "mirrord/evolution/policy"

// All returns every policy of the program, in the order in which the reference of the job file lists them.
func All() policy.PolicyRegistry {
	return policy.Standard()
}
