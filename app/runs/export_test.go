// SPDX-License-Identifier: Apache-2.0

package runs

// What the tests outside of the package name.
type GetWork = getWork

var WorkOf = workOf
