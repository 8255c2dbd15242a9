// Package styled is text with looks, laid out in lines of a terminal. Widths
// are in columns: wide characters take two, marks none.
package styled
