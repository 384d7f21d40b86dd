// SPDX-License-Identifier: Apache-2.0

// Package archives has the commands that write mirrors into files and read such files: export, import, apply
// and
// space.
package archives
