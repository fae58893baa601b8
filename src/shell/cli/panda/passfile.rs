//! PostgreSQL's password file: lines of `host:port:database:user:password`, `*` for any, `\` before
//! a colon or a backslash that is part of a field. The first line that fits counts.

/// The server and user that the password is for.
#[derive(Clone, Copy, Debug)]
pub struct For<'a> {
    pub host: &'a str,
    pub port: u16,
    pub database: &'a str,
    pub user: &'a str,
}

/// The password that the file has; `None` if no line fits.
pub fn password(file: &str, wanted: For) -> Option<String> {
    let port = wanted.port.to_string();
    let wanted = [wanted.host, &port, wanted.database, wanted.user];
    file.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let (fields, password) = fields(line)?;
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        fields.iter().zip(&wanted).all(fits).then_some(password)
    })
}

/// The four fields before the password, and the password.
fn fields(line: &str) -> Option<([String; 4], String)> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        match char {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.extend(chars.next()),
            char => fields.last_mut()?.push(char),
        }
    }
    let password = fields.pop()?;
    Some((fields.try_into().ok()?, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# a note\nother:*:*:*:a\ndb:5432:panda_db:cdc:b\\:c\\\\\n*:*:*:*:d\nhalf:a";
        let at = |host, user| For { host, port: 5_432, database: "panda_db", user };
        assert_eq!(password(file, at("db", "cdc")).as_deref(), Some("b:c\\"));
        assert_eq!(password(file, at("db", "dba")).as_deref(), Some("d"));
        assert_eq!(password(file, at("other", "dba")).as_deref(), Some("a"));
        assert_eq!(password("db:1:*:*:a\nhalf:a", at("db", "cdc")), None);
    }
}
