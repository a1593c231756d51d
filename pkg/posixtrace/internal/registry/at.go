package registry

// OpenAt opens the trace directory at path, under the rules of Open.
func OpenAt(path string) (*Dir, error) { return openDir(path) }
