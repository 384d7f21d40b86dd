// SPDX-License-Identifier: Apache-2.0

package store

// OnStep calls f between two changes of the disk.
func OnStep(s *Site, f func(step string)) { s.step = f }
