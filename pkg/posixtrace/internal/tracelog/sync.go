package tracelog

import "fmt"

// Sync returns when everything written is on its device, as far as fsync(2) can tell. After a
// failure every later call fails: the kernel forgets the pages that it could not write, and would
// report success next time. Writing goes on.
func (w *Writer) Sync() error {
	if w.unsynced == nil {
		if err := w.out.sync(); err != nil {
			w.unsynced = fmt.Errorf("log: sync: %w", err)
		}
	}
	w.noteSynced()
	return w.unsynced
}

// noteSynced records which of two headers, or of two areas for clock anchors, the device has. Until
// the next Sync only the other one may change: a device may write in any order between two of them,
// and both headers without their records would lose the whole slot.
func (w *Writer) noteSynced() {
	w.fill.synced = w.fill.slot >= 0
	w.fill.syncedSide = w.fill.side ^ 1
	if w.anchorsDone > 0 {
		w.anchorSynced = 1 + (w.anchorSide ^ 1)
	}
}
