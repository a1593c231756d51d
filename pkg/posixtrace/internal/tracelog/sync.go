package tracelog

import "fmt"

// Sync returns when all that was written is on its device, as far as fsync(2) can tell.
// Once it has failed it fails for ever: the kernel forgets what it could not write, and
// would call the next try a success. The log is written on all the same.
func (w *Writer) Sync() error {
	if w.unsynced == nil {
		if err := w.out.sync(); err != nil {
			w.unsynced = fmt.Errorf("log: sync: %w", err)
		}
	}
	w.noteSynced()
	return w.unsynced
}

// keep notes what the device has of a Loop log that is about to be written over: of two
// headers, or two slots for clock anchors, the one in force. Until the next Sync only the other
// may change, since what a device is given between two of them may reach it in any order:
// both headers without the records that they cover would be the end of all in the slot.
func (w *Writer) noteSynced() {
	w.fill.synced = w.fill.slot >= 0
	w.fill.syncedSide = w.fill.side ^ 1
	if w.anchorsDone > 0 {
		w.anchorSynced = 1 + (w.anchorSide ^ 1)
	}
}
