// Package id makes and reads Paddock's ids: a prefix that names the kind of
// thing, an underscore, and 26 characters that sort by time of making (TypeID
// form over UUIDv7, https://github.com/jetify-com/typeid).
package id
