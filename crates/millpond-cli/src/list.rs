//! `millpond list`: the workloads and suites, and the exchangeable parts.

use crate::failure::Failure;
use crate::families::{FAMILIES, Family};
use crate::report::print;
use clap::ArgMatches;
use comfy_table::presets::UTF8_BORDERS_ONLY;
use comfy_table::{ContentArrangement, Table};
use millpond::catalogue::{Registry, Row};
use millpond::depend::Mode;
use millpond_workloads::{Kind, Opt, WORKLOADS, Workload};
use serde_json::{Map, Value, json};

/// The maximum width of a table, in columns.
const WIDTH: u16 = 150;

/// Prints one list, or all of them.
pub fn list(matches: &ArgMatches, registry: &Registry) -> Result<bool, Failure> {
    let what = matches.get_one::<String>("what").map(String::as_str);
    let wanted = |name: &str| what.is_none_or(|what| what == name);
    let families = FAMILIES.iter().filter(|family| wanted(family.plural));
    if matches.get_flag("json") {
        let mut object = Map::new();
        if wanted("workloads") {
            object.insert("workloads".into(), WORKLOADS.iter().map(workload_json).collect());
        }
        object.extend(families.map(|family| (family.plural.to_owned(), family_json(family, registry))));
        print(&Value::Object(object).to_string())?;
    } else {
        let mut tables = Vec::new();
        if wanted("workloads") {
            tables.push(table("workloads", WORKLOADS.iter().map(|w| (w.name, workload_text(w)))));
        }
        tables.extend(families.map(|family| family_table(family, registry)));
        print(&tables.join("\n"))?;
    }
    Ok(true)
}

fn table(name: &str, rows: impl Iterator<Item = (&'static str, String)>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_header([name, ""]);
    for (name, text) in rows {
        table.add_row([name.to_owned(), text]);
    }
    table.to_string()
}

/// The table of a family. It includes the columns of a scheme or of the paper's table, if its
/// members have them.
fn family_table(family: &Family, registry: &Registry) -> String {
    let members = family.members(registry);
    let mut table = Table::new();
    table.load_style(UTF8_BORDERS_ONLY).set_content_arrangement(ContentArrangement::Dynamic);
    // The terminal's width, if any.
    table.set_width(table.width().map_or(WIDTH, |width| width.min(WIDTH)));
    let first = members[0];
    if first.modes.is_some() {
        table.set_header([family.plural, "source", "modes", "complexity", ""]);
        for row in &members {
            let complexity = row.complexity.unwrap_or_default();
            table.add_row([row.name, row.source, &modes_text(row), complexity, row.summary]);
        }
        return table.to_string();
    }
    table.set_header([family.plural, "source"].into_iter().chain(first.columns.iter().map(|column| column.0)));
    for row in &members {
        let columns = row.columns.iter().map(|column| column.1);
        // A program's own part may have no columns.
        let columns = columns.chain(row.columns.is_empty().then_some(row.summary));
        table.add_row([row.name, row.source].into_iter().chain(columns));
    }
    table.to_string()
}

fn modes_text(row: &Row) -> String {
    match words(row).as_deref() {
        Some(all) if all.len() == Mode::ALL.len() => "all".to_owned(),
        Some(some) => some.join(" "),
        None => String::new(),
    }
}

/// The names of the modes that a row supports.
fn words(row: &Row) -> Option<Vec<String>> {
    row.modes.map(|modes| modes.iter().map(Mode::to_string).collect())
}

fn workload_text(workload: &Workload) -> String {
    let options: Vec<_> = workload.options.iter().map(|opt| format!("--{}", opt.name)).collect();
    format!("{}: {}", workload.summary, options.join(" "))
}

fn workload_json(workload: &Workload) -> Value {
    let options: Vec<_> = workload.options.iter().map(option_json).collect();
    json!({ "name": workload.name, "summary": workload.summary, "options": options })
}

fn option_json(opt: &Opt) -> Value {
    let mut object = Map::new();
    object.insert("name".into(), json!(opt.name));
    object.insert("help".into(), json!(opt.help));
    match opt.kind {
        Kind::Integer { min, max, default } => {
            object.insert("min".into(), json!(min));
            object.insert("max".into(), json!(max));
            object.insert("default".into(), json!(default));
        }
        Kind::Choice(choices) => {
            object.insert("choices".into(), json!(choices));
            object.insert("default".into(), json!(choices[0]));
        }
        Kind::Text { form } => {
            object.insert("form".into(), json!(form));
            object.insert("default".into(), json!(""));
        }
        Kind::Flag => {
            object.insert("default".into(), json!(false));
        }
        Kind::Path => {
            object.insert("default".into(), Value::Null);
        }
    }
    Value::Object(object)
}

fn family_json(family: &Family, registry: &Registry) -> Value {
    let member = |row: &Row| {
        json!({
            "name": row.name,
            "summary": row.summary,
            "source": row.source,
            "honours_priority": row.honours_priority,
            "modes": words(row),
            "complexity": row.complexity,
            "parts": row.columns.iter().map(|(head, text)| (head.replace(' ', "_"), json!(text))).collect::<Map<_, _>>(),
            "default": row.name == family.default,
        })
    };
    family.members(registry).iter().map(member).collect()
}
