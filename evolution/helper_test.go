// SPDX-License-Identifier: Apache-2.0

package evolution

// Nodes is how many nodes the subtree of a directory has, after the last step; 0 when it is not there.
func (h *History) Nodes(d Dir) int {
	if int(d) >= len(h.now.nf) {
		return 0
	}
	return h.now.nodes(d)
}

// Depth is how many directories lie above.
func (d *Dirs) Depth(n Dir) (depth int) {
	for ; n != Root; n = d.Parent(n) {
		depth++
	}
	return depth
}
