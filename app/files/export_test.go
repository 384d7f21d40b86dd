// SPDX-License-Identifier: Apache-2.0

package files

// What the tests outside of the package name.
const AsideFolder = asideFolder

type PendingFile = pendingFile
