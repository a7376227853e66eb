//! Java signatures: the class of an operation.

/// Class of an operation from its signature, such as `shop.Cart` from
/// `public void shop.Cart.add(java.lang.String) throws X`; empty if it names none.
pub(super) fn class_of(signature: &str) -> &str {
    let before = signature.split('(').next().unwrap_or_default().trim_end();
    let name = before.rsplit(char::is_whitespace).next().unwrap_or_default();
    name.rsplit_once('.').map_or("", |(class, _)| class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        for (signature, class) in [
            ("public static void a.b.Main.main(java.lang.String[])", "a.b.Main"),
            ("a.b.Filter.doFilter(Request request, Chain chain)", "a.b.Filter"),
            ("public a.Cart.<init>()", "a.Cart"),
            ("a.Cart$1.<init>(a.Cart, java.util.Latch)", "a.Cart$1"),
            ("public void a.Cart.add (int) throws a.b.C", "a.Cart"),
            ("a.Cart.add", "a.Cart"),
            ("main()", ""),
            ("", ""),
        ] {
            assert_eq!(class_of(signature), class, "{signature}");
        }
    }
}
