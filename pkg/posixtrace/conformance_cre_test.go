package posixtrace

type creResult struct {
	err       error
	made      int
	elsewhere bool
}

func creFull() creResult { return creResult{} }
