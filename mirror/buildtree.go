// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"mirrord/mirror/ledger"
	"mirrord/phm"
	"mirrord/store"
)

// markWrong marks what must be made anew because the published file is wrong, or because nothing is known of the published files.
func (r *run) markWrong(ids []uint32) {
	if len(r.tree.wrong) == 0 && r.tree.lost == nil {
		return
	}
	t := r.table.Settled()
	for _, id := range ids {
		if (r.tree.lost != nil) || r.tree.wrong[t.Path(id)] {
			t.Touch(id)
		}
	}
}

// buildTree opens the tree for the new version, with the files in it that the new version may have. A tree whose own table is damaged is emptied.
func (r *run) buildTree(ids []uint32) (*store.Tree, error) {
	if r.tree.lost != nil {
		return r.site.Trees.BuildAnew()
	}
	tree, err := r.site.Trees.Build()
	if err != nil {
		return nil, err
	}
	err = clearTree(r.table.Settled(), tree, ids)
	if errors.Is(err, store.ErrDamaged) {
		r.log.Warn("the tree of the version before is damaged and is made anew", "err", err)
		err = tree.Empty()
	}
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return tree, nil
}

// publishAgain publishes a tree that differs from the published one only where that is damaged.
func (r *run) publishAgain(tree *store.Tree) error {
	if len(r.live.Meta) > 0 {
		if err := writeFile(tree, phm.MetaName, r.live.Meta); err != nil {
			return err
		}
	}
	r.notes.Cap("the published version was published again, with bodies in the place of damaged ones")
	return tree.PublishAgain(*r.live)
}

// clearTree removes the files that the new version has not, before any is written: a file may stand where a folder must come. A file table that
// is not what phm.json beside it says is store.ErrDamaged.
func clearTree(t ledger.Settled, tree *store.Tree, ids []uint32) error {
	meta, err := phm.OpenMeta(tree.Root.FS())
	if err != nil {
		if names, rerr := fs.ReadDir(tree.Root.FS(), "."); (rerr == nil) && len(names) == 0 {
			return nil
		}
		return fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	f, err := tree.Root.Open(phm.FilesName)
	if err != nil {
		return fmt.Errorf("%w: %v", store.ErrDamaged, err)
	}
	defer f.Close()
	digest := sha256.New()
	var drop []string
	for p, err := range phm.Paths(io.TeeReader(f, digest)) {
		if err != nil {
			return fmt.Errorf("%w: %v", store.ErrDamaged, err)
		}
		for len(ids) > 0 && t.Path(ids[0]) < p {
			ids = ids[1:]
		}
		if len(ids) == 0 || t.Path(ids[0]) != p {
			drop = append(drop, p)
		}
	}
	if (meta.TableSum != "") && meta.TableSum != hex.EncodeToString(digest.Sum(nil)) {
		return fmt.Errorf("%s: %w: %s has another digest of it", phm.FilesName, store.ErrDamaged, phm.MetaName)
	}
	for _, p := range drop {
		if err := tree.Remove(p); err != nil {
			return err
		}
	}
	return nil
}
