// SPDX-License-Identifier: Apache-2.0

package archives

// What the tests outside of the package name.
var OpenArchive = openArchive
var PackedHistory = packedHistory
