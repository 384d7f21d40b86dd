// SPDX-License-Identifier: Apache-2.0

// Package near mines negative evolution association rules (NEAR) and says which directories need not be
// looked at because of them.
//
// A rule X => not Y relates a directory Y to a chain X of directories above it: when all of X changed
// significantly, Y rarely did with them. Chen, Bhowmick and Nejdl, "Mirror Site Maintenance Based on
// Evolution Associations of Web Directories" (WWW 2007). The words DoC, FoC and CoC are those of package
// evolution. In numbers, over the steps in which all directories concerned are known:
//
//	FoC(X) >= MinFoC   FoC(X+Y) < MinFoC   CoC(X,Y) <= -MinCoC   (FoC(X) - FoC(X+Y)) / FoC(X) >= MinConfidence
//
// Y is skipped with its whole subtree, known or new, when it has a rule; no directory without one is, but
// below one that has. The root is never skipped. A skip is never refuted by itself, since nothing is
// requested: a caller that skips must look now and then ([Options].Expire, audits).
package near
