package sysevent

// Place is the place of a member in the data; of a Text or Texts, which of them it is.
func (m *Member) Place() uint8 { return m.at }
