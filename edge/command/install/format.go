package install

import "errors"

// format is the syntax of a host's file.
type format interface {
	// block returns a section with a single member, as text for a file.
	block(section []string, name string, v values) []byte
	// merge returns the file text with the member added to the section. It keeps everything else,
	// including comments. Empty text is an empty file. If the section has an equal member, merge
	// returns text. If it has another member with the name, merge replaces that if replace is true,
	// and otherwise returns errThere.
	merge(text []byte, section []string, name string, v values, replace bool) ([]byte, error)
}

var (
	jsonFile format = jsonFormat{}
	tomlFile format = tomlFormat{}
	tomlList format = tomlFormat{listed: true}
	yamlList format = yamlFormat{}
)

var errThere = errors.New("it has another entry of this name: give another --name, or --replace")
